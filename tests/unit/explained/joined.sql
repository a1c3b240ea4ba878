-- m as of 2024-03-01 12:00:00.000 UTC, no expiration

== core c0: rows of id bigint, at timestamp
SELECT o.id, s.at FROM shop.orders AS o JOIN shop.shipped AS s ON o.id = s.order_id;

== residual, evaluated by each read
SELECT * FROM mz_core_c0;

== a first run sends
-- the lock
CREATE TABLE `schema`.`m__lock` (mz_owner STRING) USING parquet;

-- c0: a chain
CREATE TABLE `schema`.`m__diffs_run` USING parquet OPTIONS ('parquet.writer.version' = 'PARQUET_2_0') TBLPROPERTIES ('mz_model' = 'm') AS
SELECT * FROM (
  SELECT `id`, `at`, mz_from, mz_until, 1L AS mz_diff
  FROM (
    SELECT `id`, `at`, 
      greatest(1709294400000L, unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT)) AS mz_from,
      unix_millis(CAST(`mz_b1` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b1` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
    FROM (
      SELECT
        o.id,
        s.at,
        s.at AS `mz_b0`,
        o.ts AS `mz_b1`
      FROM shop.orders AS o
      JOIN shop.shipped AS s
        ON o.id = s.order_id
    ) AS mz_rows
      WHERE `mz_b0` IS NOT NULL
        AND `mz_b1` IS NOT NULL
  ) AS mz_intervals
  WHERE (mz_until IS NULL OR mz_until > mz_from)
) AS mz_chain
SORT BY mz_until, mz_from;

-- commit, with the state in a comment
CREATE VIEW `schema`.`m__live` AS
SELECT *
FROM (
  SELECT
    *
  FROM (
    SELECT `id`, `at`
    FROM `schema`.`m__diffs_run`
    WHERE mz_from <= greatest(unix_millis(current_timestamp()), 1709294400000L) AND (mz_until IS NULL OR mz_until > greatest(unix_millis(current_timestamp()), 1709294400000L))
  ) AS mz_core_c0
) AS mz_out(`id`, `at`);

-- the view
CREATE VIEW `schema`.`m` (`id`, `at`) AS
SELECT /* mz_columns: 5106f9436534 */ `id`, `at` FROM `schema`.`m__live`;

-- the updates, readable
CREATE VIEW `schema`.`m__diffs` AS
SELECT mz_timestamp, sum(mz_diff) AS mz_diff, `id`, `at`
FROM (
  SELECT mz_from AS mz_timestamp, mz_diff, `id`, `at` FROM `schema`.`m__diffs_run`
  UNION ALL
  SELECT mz_until, -mz_diff, `id`, `at` FROM `schema`.`m__diffs_run` WHERE mz_until IS NOT NULL
) AS mz_updates
GROUP BY mz_timestamp, `id`, `at`
HAVING sum(mz_diff) <> 0;

-- the lock is given back
DROP TABLE `schema`.`m__lock`;

