{{ config(materialized='temporal_view') }}

with events as (
    select
        ticket_id,
        actor_role,
        kind,
        happened_at,
        lag(happened_at) over (partition by ticket_id order by happened_at, event_id) as previous_at,
        lag(actor_role) over (partition by ticket_id order by happened_at, event_id) as previous_role
    from {{ source('raw', 'raw_ticket_events') }}
    where kind = 'public_reply'
),

replies as (
    select
        ticket_id,
        happened_at,
        (unix_millis(happened_at) - unix_millis(previous_at)) / 60000.0 as minutes
    from events
    where actor_role = 'agent'
      and previous_role = 'customer'
)

select
    t.priority,
    count(*) as replies,
    percentile(cast(r.minutes as double), 0.5) as median_minutes,
    max(r.minutes) as longest_minutes
from replies r
join {{ ref('stg_tickets') }} t on t.ticket_id = r.ticket_id
where r.happened_at >= mz_now() - interval 7 days
  and r.happened_at <= mz_now()
group by t.priority
