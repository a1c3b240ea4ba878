-- the model
select kind, max(ts) as last from events group by kind having mz_now() < max(ts) + interval 1 day

-- core c0: its intervals
SELECT `kind`, `last`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `kind`, `last`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      `kind`,
      `last`,
      `last` + INTERVAL '1' DAY AS `mz_b0`
    FROM (
      SELECT
        kind,
        max(ts) AS last
      FROM events
      GROUP BY
        kind
    ) AS `mz_grouped`
    WHERE
      `last` >= timestamp_millis(1709208000000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
