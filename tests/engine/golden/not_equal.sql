-- the model
select id from events where mz_now() <> ts and ms != mz_now()

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
        timestamp_millis(mz_p) <> `mz_s0` AND `mz_s1` <> (mz_p), false))) AS mz_truth
      FROM (
        SELECT `id`, `mz_s0`, `mz_s1`, mz_upper, array_sort(array_distinct(filter(array(
        mz_lower,
        unix_millis(CAST(`mz_s0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_s0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT),
        unix_millis(CAST(`mz_s0` AS TIMESTAMP_LTZ)) + 1,
        CAST(`mz_s1` AS BIGINT),
        try_add(CAST(`mz_s1` AS BIGINT), 1L)
        ), p -> p >= mz_lower AND p < least(mz_upper, 9007199254740992L)))) AS mz_points
        FROM (
    SELECT `id`, `mz_s0`, `mz_s1`, 
      1709294400000L AS mz_lower,
      CAST(NULL AS BIGINT) AS mz_upper
    FROM (
      SELECT
        id,
        ts AS `mz_s0`,
        ms AS `mz_s1`
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
