{{ config(materialized='temporal_view') }}

with seasons as (
    select season_id, starts_at, ends_at from {{ source('raw', 'raw_seasons') }}
),

matches as (
    select match_id, player_id, points, finished_at
    from {{ source('raw', 'raw_match_results') }}
    where not coalesce(was_abandoned, false)
),

scores as (
    select
        seasons.season_id,
        matches.player_id,
        sum(matches.points) as points,
        count(*) as matches,
        max(matches.points) as best_match
    from matches
    join seasons
        on matches.finished_at >= seasons.starts_at
       and matches.finished_at < seasons.ends_at
    where mz_now() >= seasons.starts_at
      and mz_now() < seasons.ends_at
      and mz_now() >= matches.finished_at
    group by seasons.season_id, matches.player_id
),

ranked as (
    select
        scores.*,
        rank() over (partition by season_id order by points desc, matches) as place
    from scores
)

select
    ranked.season_id,
    ranked.place,
    coalesce(players.nickname, concat('player ', ranked.player_id)) as nickname,
    ranked.points,
    ranked.matches,
    ranked.best_match
from ranked
left join {{ source('raw', 'raw_players') }} as players on players.player_id = ranked.player_id
where ranked.place <= 3
