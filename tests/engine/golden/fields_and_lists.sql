-- the model
select id, tag from users lateral view explode(tags) x as tag where mz_now() < plan.till

-- core c0: its intervals
SELECT `id`, `tag`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, `tag`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      tag,
      plan.till AS `mz_b0`
    FROM users
    LATERAL VIEW
    explode(tags) x AS tag
    WHERE
      plan.till >= timestamp_millis(1709294400000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
