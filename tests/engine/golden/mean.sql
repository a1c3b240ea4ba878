-- the model
select avg(cost) as mean from events where mz_now() >= ts and mz_now() < ends_at

-- core c0: its updates of groups
SELECT *
FROM (
  SELECT mz_timestamp, sum(mz_sign) AS mz_diff,
    CAST(sum(IF(mz_sign > 0, IF(mz_x0 IS NOT NULL, 1L, 0L), -(IF(mz_x0 IS NOT NULL, 1L, 0L)))) AS BIGINT) AS `mz_count_0`,
    coalesce(CAST(sum(IF(mz_sign > 0, IF(mz_x0 IS NULL, CAST(0 AS DECIMAL(37,2)), coalesce(CAST(mz_x0 AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2)))), CAST(CAST(0 AS DECIMAL(37,2)) - IF(mz_x0 IS NULL, CAST(0 AS DECIMAL(37,2)), coalesce(CAST(mz_x0 AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2)))) AS DECIMAL(37,2)))) AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2))) AS `mz_sum_1`
  FROM (
    SELECT `mz_x0`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
    FROM (
      SELECT `mz_x0`, 
        greatest(1709294400000L, unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT)) AS mz_from,
        unix_millis(CAST(`mz_b1` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b1` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
      FROM (
        -- the last condition is what the window implies of single columns
        SELECT
          cost AS `mz_x0`,
          ts AS `mz_b0`,
          ends_at AS `mz_b1`
        FROM events
        WHERE
          ts <= timestamp_millis(1711195200000)
          AND ends_at >= timestamp_millis(1709294400000)
      ) AS mz_rows
        WHERE `mz_b0` IS NOT NULL
          AND `mz_b1` IS NOT NULL
    ) AS mz_intervals
    WHERE (mz_until IS NULL OR mz_until > mz_from)
      AND mz_from <= 1711195200000L
  ) AS mz_windows
  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign
  WHERE mz_timestamp IS NOT NULL
  GROUP BY mz_timestamp
) AS mz_sums
WHERE `mz_diff` <> 0 OR `mz_count_0` <> 0 OR `mz_sum_1` <> 0

-- the residual
SELECT
  IF(
    sum(`events`.`mz_count_0`) > 0,
    CAST(CAST((
      CAST(sum(`events`.`mz_sum_1`) AS DECIMAL(22, 2)) - CAST(CAST(sum(`events`.`mz_sum_1`) AS DECIMAL(22, 2)) % CAST(sum(`events`.`mz_count_0`) AS DECIMAL(13, 0)) AS DECIMAL(15, 2))
    ) / CAST(sum(`events`.`mz_count_0`) AS DECIMAL(13, 0)) AS DECIMAL(14, 0)) + CAST(CAST(CAST(sum(`events`.`mz_sum_1`) AS DECIMAL(22, 2)) % CAST(sum(`events`.`mz_count_0`) AS DECIMAL(13, 0)) AS DECIMAL(15, 2)) / CAST(sum(`events`.`mz_count_0`) AS DECIMAL(13, 0)) AS DECIMAL(7, 6)) AS DECIMAL(16, 6)),
    NULL
  ) AS mean
FROM mz_core_c0 AS `events`
