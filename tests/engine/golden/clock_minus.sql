-- the model
select id from events where ts >= mz_now() - interval 5 minutes

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + 1 AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      CAST(ts AS TIMESTAMP) + INTERVAL '5' MINUTES AS `mz_b0`
    FROM events
    WHERE
      ts >= timestamp_millis(1709294100000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
