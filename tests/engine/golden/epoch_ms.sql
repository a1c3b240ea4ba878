-- the model
select id from events where ms <= mz_now() and mz_now() < ms + 60000

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, 
    greatest(1709294400000L, CAST(`mz_b0` AS BIGINT)) AS mz_from,
    CAST(`mz_b1` AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      ms AS `mz_b0`,
      ms + 60000 AS `mz_b1`
    FROM events
    WHERE
      ms <= 1711195200000 AND ms >= 1709294340000
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
