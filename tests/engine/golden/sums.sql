-- the model
with recent as (select * from events where mz_now() <= ts + interval 7 days) select kind, count(*) as n, sum(cost) as cost, count_if(ms > 0) filter (where day is not null) as dated from recent group by rollup(kind) having count(*) > 1

-- core c0: its updates of groups
SELECT *
FROM (
  SELECT `kind`, mz_timestamp, sum(mz_sign) AS mz_diff,
    CAST(sum(IF(mz_sign > 0, IF(mz_x0 IS NOT NULL, 1L, 0L), -(IF(mz_x0 IS NOT NULL, 1L, 0L)))) AS BIGINT) AS `mz_count_0`,
    coalesce(CAST(sum(IF(mz_sign > 0, IF(mz_x0 IS NULL, CAST(0 AS DECIMAL(37,2)), coalesce(CAST(mz_x0 AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2)))), CAST(CAST(0 AS DECIMAL(37,2)) - IF(mz_x0 IS NULL, CAST(0 AS DECIMAL(37,2)), coalesce(CAST(mz_x0 AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2)))) AS DECIMAL(37,2)))) AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2))) AS `mz_sum_1`,
    CAST(sum(IF(mz_sign > 0, IF(mz_x1, 1L, 0L), -(IF(mz_x1, 1L, 0L)))) AS BIGINT) AS `mz_true_2`
  FROM (
    SELECT `kind`, `mz_x0`, `mz_x1`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
    FROM (
      SELECT `kind`, `mz_x0`, `mz_x1`, 
        1709294400000L AS mz_from,
        unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + 1 AS mz_until
      FROM (
        -- the last condition is what the window implies of single columns
        SELECT
          kind AS `kind`,
          cost AS `mz_x0`,
          if(NOT day IS NULL, ms > 0, NULL) AS `mz_x1`,
          `recent`.`mz_b0` AS `mz_b0`
        FROM (
          SELECT
            *,
            ts + INTERVAL '7' DAYS AS `mz_b0`
          FROM events
        ) AS `recent`
        WHERE
          `recent`.`mz_b0` >= timestamp_millis(1709294400000)
      ) AS mz_rows
        WHERE `mz_b0` IS NOT NULL
    ) AS mz_intervals
    WHERE (mz_until IS NULL OR mz_until > mz_from)
      AND mz_from <= 1711195200000L
  ) AS mz_windows
  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign
  WHERE mz_timestamp IS NOT NULL
  GROUP BY `kind`, mz_timestamp
) AS mz_sums
WHERE `mz_diff` <> 0 OR `mz_count_0` <> 0 OR `mz_sum_1` <> 0 OR `mz_true_2` <> 0

-- the residual
SELECT
  `recent`.`kind`,
  coalesce(sum(`recent`.`mz_n`), 0L) AS n,
  IF(
    sum(`recent`.`mz_count_0`) > 0,
    CAST(sum(`recent`.`mz_sum_1`) AS DECIMAL(22, 2)),
    NULL
  ) AS cost,
  coalesce(sum(`recent`.`mz_true_2`), 0L) AS dated
FROM mz_core_c0 AS `recent`
GROUP BY
  ROLLUP (
    `recent`.`kind`
  )
HAVING
  coalesce(sum(`recent`.`mz_n`), 0L) > 1
