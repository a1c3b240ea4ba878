{{ config(materialized='temporal_view') }}
{% set gap = "interval 15 minutes" %}

with events as (
    select user_id, screen, happened_at
    from {{ source('raw', 'raw_app_events') }}
    where user_id is not null
),

flagged as (
    select
        *,
        case
            when happened_at < lag(happened_at) over (partition by user_id order by happened_at) + {{ gap }} then 0
            else 1
        end as is_new_session
    from events
),

numbered as (
    select *, sum(is_new_session) over (partition by user_id order by happened_at) as session_number
    from flagged
),

sessions as (
    select
        user_id,
        session_number,
        count(*) as events,
        count(distinct screen) as screens,
        min(happened_at) as started_at,
        max(happened_at) as last_event_at
    from numbered
    group by user_id, session_number
)

select user_id, session_number, events, screens, started_at, last_event_at
from sessions
where mz_now() >= started_at
  and mz_now() < last_event_at + {{ gap }}
