{{ config(materialized='temporal_view') }}

-- who is to be called now for a ticket that nobody has acknowledged
with alerts as (
    select id as ticket_id, queue, created_at, acknowledged_at
    from {{ source('raw', 'raw_tickets') }}
    where lower(priority) = 'urgent'
),

steps as (
    select 1 as step, interval '0' minute as after, interval '15' minute as until
    union all
    select 2, interval '15' minute, interval '45' minute
    union all
    select 3, interval '45' minute, interval '8' hour
),

rota as (
    select queue, step, agent_id, shift_start, shift_end
    from {{ source('raw', 'raw_oncall_shifts') }}
)

select
    alerts.ticket_id,
    alerts.queue,
    steps.step,
    rota.agent_id,
    alerts.created_at + steps.after as escalated_at
from alerts
cross join steps
join rota on rota.queue = alerts.queue and rota.step = steps.step
where mz_now() >= alerts.created_at + steps.after
  and mz_now() < alerts.created_at + steps.until
  and (alerts.acknowledged_at is null or mz_now() < alerts.acknowledged_at)
  and mz_now() >= rota.shift_start
  and mz_now() < rota.shift_end
