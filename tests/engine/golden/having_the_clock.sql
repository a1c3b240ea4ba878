-- the model
select kind, max(ts) as last from events group by kind having mz_now() < max(ts) + interval 1 day

-- core c0: its intervals
SELECT `id`, `kind`, `ts`, `ends_at`, `ms`, `cost`, `day`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, `kind`, `ts`, `ends_at`, `ms`, `cost`, `day`, 
    1709294400000L AS mz_from,
    CAST(NULL AS BIGINT) AS mz_until
  FROM (
    SELECT
      *
    FROM events
  ) AS mz_rows
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  kind,
  max(ts) AS last
FROM mz_core_c0 AS `events`
GROUP BY
  kind
HAVING
  mz_now_timestamp() < max(ts) + INTERVAL '1' DAY
