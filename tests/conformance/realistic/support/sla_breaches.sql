{{ config(materialized='temporal_view') }}

with tickets as (
    select * from {{ ref('stg_tickets') }} where status <> 'spam'
),

policies as (
    select lower(priority) as priority, first_reply_minutes, resolution_hours
    from {{ source('raw', 'raw_sla_policies') }}
),

first_replies as (
    select ticket_id, min(happened_at) as first_reply_at
    from {{ source('raw', 'raw_ticket_events') }}
    where kind = 'public_reply' and actor_role = 'agent'
    group by ticket_id
),

timers as (
    select
        tickets.ticket_id,
        tickets.agent_id,
        tickets.priority,
        tickets.fields.tier as tier,
        tickets.created_at + make_dt_interval(0, 0, policies.first_reply_minutes, 0) as reply_due_at,
        tickets.created_at + make_dt_interval(0, policies.resolution_hours, 0, 0) as resolution_due_at,
        first_replies.first_reply_at,
        tickets.solved_at
    from tickets
    join policies on policies.priority = tickets.priority
    left join first_replies on first_replies.ticket_id = tickets.ticket_id
)

select ticket_id, agent_id, tier, 'first reply' as metric, reply_due_at as due_at
from timers
where mz_now() > reply_due_at
  and (first_reply_at is null or first_reply_at > reply_due_at)
union all
select ticket_id, agent_id, tier, 'resolution' as metric, resolution_due_at as due_at
from timers
where mz_now() > resolution_due_at
  and mz_now() <= coalesce(solved_at, timestamp '9999-12-31 00:00:00')
