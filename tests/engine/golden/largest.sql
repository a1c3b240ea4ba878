-- the model
select kind, max(cost) as largest from events where mz_now() >= ts and mz_now() < ends_at group by kind

-- core c0: its updates of groups
SELECT *
FROM (
  SELECT `kind`, `cost`, mz_timestamp, sum(mz_sign) AS mz_diff
  FROM (
    SELECT `kind`, `cost`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
    FROM (
      SELECT `kind`, `cost`, 
        greatest(1709294400000L, unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT)) AS mz_from,
        unix_millis(CAST(`mz_b1` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b1` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
      FROM (
        -- the last condition is what the window implies of single columns
        SELECT
          kind AS `kind`,
          cost AS `cost`,
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
  GROUP BY `kind`, `cost`, mz_timestamp
) AS mz_sums
WHERE `mz_diff` <> 0

-- the residual
SELECT
  `events`.`kind`,
  max(`events`.`cost`) AS largest
FROM mz_core_c0 AS `events`
GROUP BY
  `events`.`kind`
