-- the model
select id from users u where exists (select 1 from events e where e.id = u.id and mz_now() < e.ends_at)

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
      `mz_partners_0`.`mz_partner_until` AS `mz_b0`
    FROM users AS u
    JOIN (
      SELECT
        `mz_partner_k0`,
        CASE
          WHEN max(mz_partner_until) <= 9223372036854775L
          THEN timestamp_millis(greatest(max(mz_partner_until), -9223372036854775L))
        END AS mz_partner_until
      FROM (
        SELECT
          *
        FROM (
          SELECT
            `mz_partner_k0`,
            coalesce(mz_partner_from, -4611686018427387904L) AS mz_partner_from,
            coalesce(mz_partner_until, 4611686018427387904L) AS mz_partner_until
          FROM (
            SELECT
              `mz_partner_k0`,
              CAST(NULL AS BIGINT) AS mz_partner_from,
              unix_millis(CAST(`mz_b0` AS TIMESTAMP_LTZ)) + CAST(pmod(unix_micros(CAST(`mz_b0` AS TIMESTAMP_LTZ)), 1000) > 0 AS BIGINT) AS mz_partner_until
            FROM (
              SELECT
                e.id AS `mz_partner_k0`,
                e.ends_at AS `mz_b0`
              FROM events AS e
            ) AS mz_rows
            WHERE
              NOT `mz_b0` IS NULL AND (
                `mz_b0` >= timestamp_millis(1709294400000L)
              )
          ) AS mz_rows
        ) AS mz_rows
        WHERE
          mz_partner_from < mz_partner_until
      ) AS mz_rows
      GROUP BY
        `mz_partner_k0`
    ) AS `mz_partners_0`
      ON (
        u.id
      ) = `mz_partners_0`.`mz_partner_k0`
    WHERE
      (
        `mz_partners_0`.`mz_partner_until` >= timestamp_millis(1709294400000)
        OR `mz_partners_0`.`mz_partner_until` IS NULL
      )
  ) AS mz_rows
) AS mz_intervals
WHERE (mz_until IS NULL OR mz_until > mz_from)
  AND mz_from <= 1711195200000L

-- the residual
SELECT
  *
FROM mz_core_c0
