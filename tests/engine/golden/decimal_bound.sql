-- the model
select id from events where mz_now() > cost

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, 
    greatest(1709294400000L, try_add(try_cast(IF(`mz_b0` IS NULL, NULL, greatest(floor(`mz_b0`), -9223372036854775808BD)) AS BIGINT), 1L)) AS mz_from,
    CAST(NULL AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      cost AS `mz_b0`
    FROM events
    WHERE
      cost <= 1711195200001
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
      AND try_add(try_cast(IF(`mz_b0` IS NULL, NULL, greatest(floor(`mz_b0`), -9223372036854775808BD)) AS BIGINT), 1L) IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
