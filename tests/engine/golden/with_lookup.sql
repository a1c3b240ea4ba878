-- the model
with live as (select id, ts from events where mz_now() < ts) select live.id, u.name from live left join users u on u.id = live.id

-- core c0: its intervals
SELECT `id`, `ts`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, `ts`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      ts,
      ts AS `mz_b0`
    FROM events
    WHERE
      ts >= timestamp_millis(1709294400000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- core c1: its intervals
SELECT `id`, `name`, `until`, `plan`, `tags`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, `name`, `until`, `plan`, `tags`, 
    1709294400000L AS mz_from,
    CAST(NULL AS BIGINT) AS mz_until
  FROM (
    SELECT
      *
    FROM users
  ) AS mz_rows
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
WITH live AS (
  SELECT
    *
  FROM mz_core_c0
)
SELECT
  live.id,
  u.name
FROM live
LEFT JOIN mz_core_c1 AS u
  ON u.id = live.id
