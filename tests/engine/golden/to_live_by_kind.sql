-- the model
select id from events where mz_now() < ts + case kind when 'a' then interval 1 hour else interval 2 days end

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      ts + CASE kind WHEN 'a' THEN INTERVAL '1' HOUR ELSE INTERVAL '2' DAYS END AS `mz_b0`
    FROM events
    WHERE
      ts >= timestamp_millis(1709121600000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
