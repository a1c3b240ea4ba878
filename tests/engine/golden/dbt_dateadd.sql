-- the model
select id from events where ts >= to_timestamp( to_unix_timestamp( date_add( coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) , cast(-7 * 1 as int) ) ) + to_unix_timestamp( coalesce(to_timestamp(mz_now()), nvl2(to_timestamp(mz_now()), assert_true(to_timestamp(mz_now()) is not null), null)) ) - to_unix_timestamp( coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) ) )

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, 
    1709294400000L AS mz_from,
    unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_until
  FROM (
    -- the last condition is what the window implies of single columns
    SELECT
      id,
      timestamp_seconds(unix_seconds(CAST(ts AS TIMESTAMP_LTZ)) + 604801L) AS `mz_b0`
    FROM events
    WHERE
      ts >= timestamp_millis(1708689599000)
  ) AS mz_rows
    WHERE `mz_b0` IS NOT NULL
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
