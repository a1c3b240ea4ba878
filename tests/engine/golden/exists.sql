-- the model
select id from users u where exists (select 1 from events e where e.id = u.id and mz_now() < e.ends_at)

-- core c0: its intervals
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

-- core c1: its intervals
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
  id
FROM mz_core_c0 AS u
WHERE
  EXISTS(
    SELECT
      1
    FROM mz_core_c1 AS e
    WHERE
      e.id = u.id AND mz_now_timestamp() < e.ends_at
  )

-- note: evaluated when the view is read, over all rows of its inputs: e.id = u.id AND mz_now() < e.ends_at
