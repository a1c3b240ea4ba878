{{ config(materialized='temporal_view') }}

-- the quests of today (they change at 04:00) and how far each player has come
with today as (
    select quest_id, title, goal, quest_day
    from {{ source('raw', 'raw_quests') }}
    where quest_day = to_date(mz_now() - interval 4 hours)
),

progress as (
    select
        player_id,
        quest_id,
        sum(amount) as done,
        max(progressed_at) as last_progress_at
    from {{ source('raw', 'raw_quest_progress') }}
    where date_trunc('DAY', progressed_at - interval 4 hours) = date_trunc('DAY', mz_now() - interval 4 hours)
      and progressed_at <= mz_now()
    group by player_id, quest_id
)

select
    today.quest_id,
    today.title,
    progress.player_id,
    coalesce(progress.done, 0) as done,
    today.goal,
    coalesce(progress.done, 0) >= today.goal as is_finished
from today
left join progress on progress.quest_id = today.quest_id
