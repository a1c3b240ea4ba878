-- the model
select date_trunc('HOUR', ts) as hour, count(*) as n from events where mz_now() >= date_trunc('HOUR', ts) + interval 1 hour group by 1

-- core c0: its updates of groups
SELECT *
FROM (
  SELECT `hour`, mz_timestamp, sum(mz_sign) AS mz_diff
  FROM (
    SELECT `hour`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
    FROM (
      SELECT `hour`, 
        greatest(1709294400000L, unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT)) AS mz_from,
        CAST(NULL AS BIGINT) AS mz_until
      FROM (
        -- the last condition is what the window implies of single columns
        SELECT
          date_trunc('HOUR', ts) AS `hour`,
          date_trunc('HOUR', ts) + INTERVAL '1' HOUR AS `mz_b0`
        FROM events
        WHERE
          ts <= timestamp_millis(1711195200000)
      ) AS mz_rows
        WHERE `mz_b0` IS NOT NULL
    ) AS mz_intervals
    WHERE (mz_until IS NULL OR mz_until > mz_from)
      AND mz_from <= 1711195200000L
  ) AS mz_windows
  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign
  WHERE mz_timestamp IS NOT NULL
  GROUP BY `hour`, mz_timestamp
) AS mz_sums
WHERE `mz_diff` <> 0

-- the residual
SELECT
  `events`.`hour` AS hour,
  coalesce(sum(`events`.`mz_n`), 0L) AS n
FROM mz_core_c0 AS `events`
GROUP BY
  `events`.`hour`
