-- the model
select kind, day from events where mz_now() < ts union select kind, null from events where mz_now() >= ends_at

-- core c0: its updates of groups
SELECT *
FROM (
  SELECT `kind`, `day`, mz_timestamp, sum(mz_sign) AS mz_diff
  FROM (
    SELECT `kind`, `day`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
    FROM (
      SELECT `kind`, `day`, 
        1709294400000L AS mz_from,
        unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
      FROM (
        -- the last condition is what the window implies of single columns
        SELECT
          `mz_union`.`kind`,
          `mz_union`.`day`,
          `mz_union`.`mz_b0` AS `mz_b0`
        FROM (
          SELECT
            `mz_branch`.`kind` AS `kind`,
            `mz_branch`.`day` AS `day`,
            `mz_branch`.`mz_b0` AS `mz_b0`
          FROM (
            SELECT
              kind,
              day,
              ts AS `mz_b0`
            FROM events
          ) AS `mz_branch`
        ) AS `mz_union`
        WHERE
          `mz_union`.`mz_b0` >= timestamp_millis(1709294400000)
      ) AS mz_rows
        WHERE `mz_b0` IS NOT NULL
    ) AS mz_intervals
    WHERE (mz_until IS NULL OR mz_until > mz_from)
      AND mz_from <= 1711195200000L
  ) AS mz_windows
  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign
  WHERE mz_timestamp IS NOT NULL
  GROUP BY `kind`, `day`, mz_timestamp
) AS mz_sums
WHERE `mz_diff` <> 0

-- core c1: its updates of groups
SELECT *
FROM (
  SELECT `kind`, `day`, mz_timestamp, sum(mz_sign) AS mz_diff
  FROM (
    SELECT `kind`, `day`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
    FROM (
      SELECT `kind`, `day`, 
        greatest(1709294400000L, unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT)) AS mz_from,
        CAST(NULL AS BIGINT) AS mz_until
      FROM (
        -- the last condition is what the window implies of single columns
        SELECT
          `mz_union`.`kind`,
          `mz_union`.`day`,
          `mz_union`.`mz_b0` AS `mz_b0`
        FROM (
          SELECT
            `mz_branch`.`kind` AS `kind`,
            CAST(`mz_branch`.`mz_u1` AS DATE) AS `day`,
            `mz_branch`.`mz_b0` AS `mz_b0`
          FROM (
            SELECT
              kind,
              NULL AS `mz_u1`,
              ends_at AS `mz_b0`
            FROM events
          ) AS `mz_branch`
        ) AS `mz_union`
        WHERE
          `mz_union`.`mz_b0` <= timestamp_millis(1711195200000)
      ) AS mz_rows
        WHERE `mz_b0` IS NOT NULL
    ) AS mz_intervals
    WHERE (mz_until IS NULL OR mz_until > mz_from)
      AND mz_from <= 1711195200000L
  ) AS mz_windows
  LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign
  WHERE mz_timestamp IS NOT NULL
  GROUP BY `kind`, `day`, mz_timestamp
) AS mz_sums
WHERE `mz_diff` <> 0

-- the residual
SELECT DISTINCT
  `kind`,
  `day`
FROM (
  SELECT
    *
  FROM mz_core_c0
  UNION ALL
  SELECT
    *
  FROM mz_core_c1
) AS `mz_union`
