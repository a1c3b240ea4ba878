-- the model
select id from events where case when coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) < coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) then floor(months_between(date( coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) ), date( coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) ))) else ceil(months_between(date( coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) ), date( coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) ))) end + case when coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) < coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) and dayofmonth( coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) ) < dayofmonth( coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) ) then 1 when coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) > coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) and dayofmonth( coalesce(date(mz_now()), nvl2(date(mz_now()), assert_true(date(mz_now()) is not null), null)) ) > dayofmonth( coalesce(date(ts), nvl2(date(ts), assert_true(date(ts) is not null), null)) ) then -1 else 0 end < 3

-- core c0: its intervals
SELECT `id`, mz_from, CASE WHEN mz_until <= 1711195200000L THEN mz_until END AS mz_until, 1L AS mz_diff
FROM (
  SELECT `id`, mz_from, coalesce(mz_end, mz_upper) AS mz_until
  FROM (
    SELECT `id`, transform(
      filter(mz_truth, (e, i) -> e.v AND (i = 0 OR NOT get(mz_truth, i - 1).v)),
      e -> named_struct('mz_from', e.t, 'mz_end', get(filter(mz_truth, f -> NOT f.v AND f.t > e.t), 0).t)
      ) AS mz_spans, mz_upper
    FROM (
      SELECT `id`, mz_upper, transform(mz_points, mz_p -> named_struct('t', mz_p, 'v', coalesce(
        CASE WHEN `mz_s1` < date(timestamp_millis(mz_p)) THEN floor(months_between(date(date(timestamp_millis(mz_p))), `mz_s2`)) ELSE ceil(months_between(date(date(timestamp_millis(mz_p))), `mz_s2`)) END + CASE WHEN `mz_s1` < date(timestamp_millis(mz_p)) AND dayofmonth(date(timestamp_millis(mz_p))) < `mz_s3` THEN 1 WHEN `mz_s1` > date(timestamp_millis(mz_p)) AND dayofmonth(date(timestamp_millis(mz_p))) > `mz_s3` THEN -1 ELSE 0 END < 3, false))) AS mz_truth
      FROM (
        SELECT `id`, `mz_s0`, `mz_s1`, `mz_s2`, `mz_s3`, mz_upper, array_sort(array_distinct(filter(concat(array(
        mz_lower
        ),
        coalesce(`mz_s0`, CAST(array() AS ARRAY<BIGINT>))), p -> p >= mz_lower AND p < least(mz_upper, 9007199254740992L)))) AS mz_points
        FROM (
    SELECT `id`, `mz_s0`, `mz_s1`, `mz_s2`, `mz_s3`, 
      1709294400000L AS mz_lower,
      CAST(NULL AS BIGINT) AS mz_upper
    FROM (
      SELECT
        id,
        CAST(TRANSFORM(
          sequence(
            date_sub(
              add_months(
                date(ts),
                1 * (
                  CAST(least(greatest(CAST(3 AS DOUBLE), -120000D), 120000D) AS INT) - 2
                )
              ),
              4
            ),
            date_add(
              add_months(
                date(ts),
                1 * (
                  CAST(least(greatest(CAST(3 AS DOUBLE), -120000D), 120000D) AS INT) + 2
                )
              ),
              5
            )
          ),
          mz_d -> unix_millis(CAST(mz_d AS TIMESTAMP_LTZ))
        ) AS ARRAY<BIGINT>) AS `mz_s0`,
        date(ts) AS `mz_s1`,
        date(date(ts)) AS `mz_s2`,
        dayofmonth(date(ts)) AS `mz_s3`
      FROM events
    ) AS mz_rows
        ) AS mz_bounded
        WHERE mz_lower < least(mz_upper, 9007199254740992L)
      ) AS mz_pointed
    ) AS mz_judged
  ) AS mz_spanned
  LATERAL VIEW inline(mz_spans) mz_each AS mz_from, mz_end
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
