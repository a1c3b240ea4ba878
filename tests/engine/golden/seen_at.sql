-- the model
select id, mz_now() as seen from events where mz_now() < ends_at order by ts limit 10

-- core c0: its intervals
SELECT `id`, `ts`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, `ts`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      `events`.`id` AS `id`,
      `events`.`ts` AS `ts`,
      ends_at AS `mz_b0`
    FROM events
    WHERE
      ends_at >= timestamp_millis(1709294400000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  id,
  mz_now_timestamp() AS seen
FROM mz_core_c0 AS `events`
ORDER BY
  ts
LIMIT 10
