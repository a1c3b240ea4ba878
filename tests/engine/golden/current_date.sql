-- the model
select id from events where day >= current_date() - 7

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
        `mz_s0` >= CAST(timestamp_millis(mz_p) AS DATE) - 7, false))) AS mz_truth
      FROM (
        SELECT `id`, `mz_s0`, mz_upper, array_sort(array_distinct(filter(concat(array(
        mz_lower
        ),
        transform(array(transform(array(named_struct('lo', ((mz_lower + 0L) - pmod((mz_lower + 0L), 86400000L)) div 86400000L, 'hi', ((least(mz_upper, 9007199254740992L) + 86399999L) - pmod((least(mz_upper, 9007199254740992L) + 86399999L), 86400000L)) div 86400000L, 'at', (CAST((CAST(timestamp_millis(mz_lower) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(mz_lower) AS DATE) - 7) > (`mz_s0`) AS INT)), 'end', (CAST((CAST(timestamp_millis(((((least(mz_upper, 9007199254740992L) + 86399999L) - pmod((least(mz_upper, 9007199254740992L) + 86399999L), 86400000L)) div 86400000L) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((((least(mz_upper, 9007199254740992L) + 86399999L) - pmod((least(mz_upper, 9007199254740992L) + 86399999L), 86400000L)) div 86400000L) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)))), s -> CASE WHEN s.hi <= s.lo OR s.at <=> s.end THEN NULL ELSE aggregate(sequence(1, 29), named_struct('lo', s.lo, 'hi', CASE WHEN s.lo + 64L < s.hi AND NOT ((CAST((CAST(timestamp_millis(((s.lo + 64L) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((s.lo + 64L) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)) <=> s.at) THEN s.lo + 64L ELSE s.hi END), (b, i) -> CASE WHEN b.hi - b.lo <= 1L THEN b WHEN (CAST((CAST(timestamp_millis(((shiftright(b.lo + b.hi, 1)) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((shiftright(b.lo + b.hi, 1)) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)) <=> s.at THEN named_struct('lo', shiftright(b.lo + b.hi, 1), 'hi', b.hi) ELSE named_struct('lo', b.lo, 'hi', shiftright(b.lo + b.hi, 1)) END, b -> ((b.hi) * 86400000L - 0L)) END)[0]), c -> array(c, IF(c IS NULL, NULL, transform(array(named_struct('lo', ((c + 0L) - pmod((c + 0L), 86400000L)) div 86400000L, 'hi', ((least(mz_upper, 9007199254740992L) + 86399999L) - pmod((least(mz_upper, 9007199254740992L) + 86399999L), 86400000L)) div 86400000L, 'at', (CAST((CAST(timestamp_millis(c) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(c) AS DATE) - 7) > (`mz_s0`) AS INT)), 'end', (CAST((CAST(timestamp_millis(((((least(mz_upper, 9007199254740992L) + 86399999L) - pmod((least(mz_upper, 9007199254740992L) + 86399999L), 86400000L)) div 86400000L) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((((least(mz_upper, 9007199254740992L) + 86399999L) - pmod((least(mz_upper, 9007199254740992L) + 86399999L), 86400000L)) div 86400000L) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)))), s -> CASE WHEN s.hi <= s.lo OR s.at <=> s.end THEN NULL ELSE aggregate(sequence(1, 29), named_struct('lo', s.lo, 'hi', CASE WHEN s.lo + 1L < s.hi AND (CAST((CAST(timestamp_millis(((s.lo + 1L) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((s.lo + 1L) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)) <=> s.end THEN s.lo + 1L WHEN s.lo + 2L < s.hi AND (CAST((CAST(timestamp_millis(((s.lo + 2L) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((s.lo + 2L) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)) <=> s.end THEN s.lo + 2L ELSE s.hi END), (b, i) -> CASE WHEN b.hi - b.lo <= 1L THEN b WHEN NOT ((CAST((CAST(timestamp_millis(((shiftright(b.lo + b.hi, 1)) * 86400000L - 0L)) AS DATE) - 7) >= (`mz_s0`) AS INT) + CAST((CAST(timestamp_millis(((shiftright(b.lo + b.hi, 1)) * 86400000L - 0L)) AS DATE) - 7) > (`mz_s0`) AS INT)) <=> s.end) THEN named_struct('lo', shiftright(b.lo + b.hi, 1), 'hi', b.hi) ELSE named_struct('lo', b.lo, 'hi', shiftright(b.lo + b.hi, 1)) END, b -> ((b.hi) * 86400000L - 0L)) END)[0])))[0]), p -> p >= mz_lower AND p < least(mz_upper, 9007199254740992L)))) AS mz_points
        FROM (
    SELECT `id`, `mz_s0`, 
      1709294400000L AS mz_lower,
      CAST(NULL AS BIGINT) AS mz_upper
    FROM (
      SELECT
        id,
        day AS `mz_s0`
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

-- note: current_date() is read as mz_now()
