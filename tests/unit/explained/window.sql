-- m as of 2024-03-01 12:00:00.000 UTC, expiration 2024-03-23 12:00:00.000 UTC

== core c0: rows of id bigint, amount decimal(10,2)
SELECT id, amount FROM shop.orders;

== residual, evaluated by each read
SELECT * FROM mz_core_c0;

== a first run sends
-- the lock
CREATE TABLE `schema`.`m__lock` (mz_owner STRING) USING parquet;

-- c0: a chain
CREATE TABLE `schema`.`m__diffs_run` USING parquet OPTIONS ('parquet.writer.version' = 'PARQUET_2_0') TBLPROPERTIES ('mz_model' = 'm') AS
SELECT * FROM (
  SELECT `id`, `amount`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
  FROM (
    SELECT `id`, `amount`, 
      1709294400000L AS mz_from,
      unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + 1 AS mz_until
    FROM (
      SELECT
        id,
        amount,
        ts + INTERVAL '30' DAYS AS `mz_b0`
      FROM shop.orders
    ) AS mz_rows
      WHERE `mz_b0` IS NOT NULL
  ) AS mz_intervals
  WHERE (mz_until IS NULL OR mz_until > mz_from)
    AND mz_from <= 1711195200000L
) AS mz_chain
SORT BY mz_until, mz_from;

-- commit, with the state in a comment
CREATE VIEW `schema`.`m__live` AS
SELECT CAST(raise_error('ST001 temporal_view m expired at 2024-03-23 12:00:00.000 UTC: updates after that instant are not stored. To answer again: dbt run -s m') AS bigint) AS `id`, CAST(raise_error('ST001 temporal_view m expired at 2024-03-23 12:00:00.000 UTC: updates after that instant are not stored. To answer again: dbt run -s m') AS decimal(10,2)) AS `amount`
WHERE greatest(unix_millis(current_timestamp()), 1709294400000L) > 1711195200000L AND raise_error('ST001 temporal_view m expired at 2024-03-23 12:00:00.000 UTC: updates after that instant are not stored. To answer again: dbt run -s m') IS NULL
UNION ALL
SELECT *
FROM (
  SELECT
    *
  FROM (
    SELECT `id`, `amount`
    FROM `schema`.`m__diffs_run`
    WHERE mz_from <= greatest(unix_millis(current_timestamp()), 1709294400000L) AND (mz_until IS NULL OR mz_until > greatest(unix_millis(current_timestamp()), 1709294400000L))
  ) AS mz_core_c0
) AS mz_out(`id`, `amount`);

-- the view
CREATE VIEW `schema`.`m` (`id`, `amount`) AS
SELECT /* mz_columns: 624ea698b8cb */ `id`, `amount` FROM `schema`.`m__live`;

-- the updates, readable
CREATE VIEW `schema`.`m__diffs` AS
SELECT mz_timestamp, sum(mz_diff) AS mz_diff, `id`, `amount`
FROM (
  SELECT mz_from AS mz_timestamp, mz_diff, `id`, `amount` FROM `schema`.`m__diffs_run`
  UNION ALL
  SELECT mz_until, -mz_diff, `id`, `amount` FROM `schema`.`m__diffs_run` WHERE mz_until IS NOT NULL
) AS mz_updates
GROUP BY mz_timestamp, `id`, `amount`
HAVING sum(mz_diff) <> 0;

-- the lock is given back
DROP TABLE `schema`.`m__lock`;

