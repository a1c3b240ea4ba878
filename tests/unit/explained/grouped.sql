-- m as of 2024-06-01 00:00:00.000 UTC, no expiration

== core c0: groups of customer int, mz_count_0 bigint, mz_sum_1 decimal(37,2)
SELECT customer AS `customer`, amount AS `mz_x0` FROM shop.orders;

== residual, evaluated by each read
SELECT `orders`.`customer`, coalesce(sum(`orders`.`mz_n`), 0L) AS n, IF(sum(`orders`.`mz_count_0`) > 0, CAST(sum(`orders`.`mz_sum_1`) AS DECIMAL(20, 2)), NULL) AS total FROM mz_core_c0 AS `orders` GROUP BY `orders`.`customer`;

== a first run sends
-- the lock
CREATE TABLE `schema`.`m__lock` (mz_owner STRING) USING parquet;

-- c0: a chain
CREATE TABLE `schema`.`m__diffs_run` USING parquet OPTIONS ('parquet.writer.version' = 'PARQUET_2_0') TBLPROPERTIES ('mz_model' = 'm') AS
SELECT * FROM (
  SELECT *
  FROM (
    SELECT `customer`, mz_timestamp, sum(mz_sign) AS mz_diff,
      CAST(sum(IF(mz_sign > 0, IF(mz_x0 IS NOT NULL, 1L, 0L), -(IF(mz_x0 IS NOT NULL, 1L, 0L)))) AS BIGINT) AS `mz_count_0`,
      coalesce(CAST(sum(IF(mz_sign > 0, IF(mz_x0 IS NULL, CAST(0 AS DECIMAL(37,2)), coalesce(CAST(mz_x0 AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2)))), CAST(CAST(0 AS DECIMAL(37,2)) - IF(mz_x0 IS NULL, CAST(0 AS DECIMAL(37,2)), coalesce(CAST(mz_x0 AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2)))) AS DECIMAL(37,2)))) AS DECIMAL(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS DECIMAL(37,2))) AS `mz_sum_1`
    FROM (
      SELECT `customer`, `mz_x0`, mz_from, mz_until, 1L AS mz_diff
      FROM (
        SELECT `customer`, `mz_x0`, 
          1717200000000L AS mz_from,
          unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + 1 AS mz_until
        FROM (
          SELECT
            customer AS `customer`,
            amount AS `mz_x0`,
            ts + INTERVAL '30' DAYS AS `mz_b0`
          FROM shop.orders
        ) AS mz_rows
          WHERE `mz_b0` IS NOT NULL
      ) AS mz_intervals
      WHERE (mz_until IS NULL OR mz_until > mz_from)
    ) AS mz_windows
    LATERAL VIEW stack(2, mz_from, 1L, mz_until, -1L) mz_edges AS mz_timestamp, mz_sign
    WHERE mz_timestamp IS NOT NULL
    GROUP BY `customer`, mz_timestamp
  ) AS mz_sums
  WHERE `mz_diff` <> 0 OR `mz_count_0` <> 0 OR `mz_sum_1` <> 0
) AS mz_chain
SORT BY mz_timestamp;

-- commit, with the state in a comment
CREATE VIEW `schema`.`m__live` AS
SELECT *
FROM (
  SELECT
    `orders`.`customer`,
    coalesce(`orders`.`mz_n`, 0L) AS n,
    IF(
      `orders`.`mz_count_0` > 0,
      CAST(CAST(`orders`.`mz_sum_1` AS DECIMAL(38, 2)) AS DECIMAL(20, 2)),
      NULL
    ) AS total
  FROM (
    SELECT `customer`, CASE WHEN mz_n > 0 THEN mz_n ELSE CAST(raise_error('ST002 the diffs retract a row more often than it was added') AS BIGINT) END AS mz_n, `mz_count_0`, `mz_sum_1`
    FROM (
      SELECT `customer`, sum(mz_diff) AS mz_n, sum(`mz_count_0`) AS `mz_count_0`, sum(`mz_sum_1`) AS `mz_sum_1`
      FROM (
        SELECT /*+ COALESCE(1) */ *
        FROM (
          SELECT `customer`, mz_diff, `mz_count_0`, `mz_sum_1`
          FROM `schema`.`m__diffs_run`
          WHERE mz_timestamp <= greatest(unix_millis(current_timestamp()), 1717200000000L)
        ) AS mz_few
      ) AS mz_chains
      GROUP BY `customer`
      HAVING sum(mz_diff) <> 0
    ) AS mz_groups
  ) AS `orders`
) AS mz_out(`customer`, `n`, `total`);

-- the view
CREATE VIEW `schema`.`m` (`customer`, `n`, `total`) AS
SELECT /* mz_columns: a5cd454ee7cb */ `customer`, `n`, `total` FROM `schema`.`m__live`;

-- the updates, readable
CREATE VIEW `schema`.`m__diffs` AS
SELECT mz_timestamp, mz_diff, `customer`, `mz_count_0`, `mz_sum_1`
FROM (
  SELECT *
  FROM (
    SELECT `customer`, mz_timestamp, sum(mz_diff) AS mz_diff, CAST(sum(`mz_count_0`) AS bigint) AS `mz_count_0`, coalesce(CAST(sum(`mz_sum_1`) AS decimal(37,2)), CAST(raise_error('ST003 a sum kept for a group has more than 37 digits; instead: config aggregates: rows') AS decimal(37,2))) AS `mz_sum_1`
    FROM (
      SELECT mz_timestamp, mz_diff, `customer`, `mz_count_0`, `mz_sum_1` FROM `schema`.`m__diffs_run`
    ) AS mz_all
    GROUP BY `customer`, mz_timestamp
  ) AS mz_sums
  WHERE `mz_diff` <> 0 OR `mz_count_0` <> 0 OR `mz_sum_1` <> 0
) AS mz_updates;

-- the lock is given back
DROP TABLE `schema`.`m__lock`;

