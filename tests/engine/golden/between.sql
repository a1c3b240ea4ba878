-- the model
select id from events where mz_now() between ts and ends_at and kind = 'a'

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, 
    greatest(1709294400000L, unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT)) AS mz_from,
    unix_millis(CAST(`mz_b1` AS TIMESTAMP_LTZ)) + 1 AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      ts AS `mz_b0`,
      ends_at AS `mz_b1`
    FROM events
    WHERE
      kind = 'a'
      AND (
        ts <= timestamp_millis(1711195200000)
        AND ends_at >= timestamp_millis(1709294400000)
      )
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
      AND `mz_b1` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
