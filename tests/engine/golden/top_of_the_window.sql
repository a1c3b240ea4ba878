-- the model
select * from (select id, kind, row_number() over (partition by kind order by ts desc) as r from events where mz_now() < ts + interval 1 day) where r <= 3

-- core c0: its intervals
SELECT `id`, `kind`, `ts`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, `kind`, `ts`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      `events`.`id` AS `id`,
      `events`.`kind` AS `kind`,
      `events`.`ts` AS `ts`,
      ts + INTERVAL '1' DAY AS `mz_b0`
    FROM events
    WHERE
      ts >= timestamp_millis(1709208000000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM (
  SELECT
    id,
    kind,
    row_number() OVER (PARTITION BY kind ORDER BY ts DESC) AS r
  FROM mz_core_c0 AS `events`
)
WHERE
  r <= 3
