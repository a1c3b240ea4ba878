{{ config(materialized='temporal_view') }}
{% set priorities = ['urgent', 'high', 'normal', 'low'] %}

with tickets as (
    select * from {{ ref('stg_tickets') }}
),

waiting as (
    select *
    from tickets
    where status in ('new', 'open', 'pending')
      and (snoozed_until is null or mz_now() >= snoozed_until)
      and not (solved_at is not null and solved_at <= mz_now())
),

agents as (
    select agent_id, name, team from {{ source('raw', 'raw_agents') }} where active
)

select
    coalesce(agents.team, 'nobody') as team,
    coalesce(agents.name, 'unassigned') as agent,
    count(*) as tickets,
    {% for priority in priorities -%}
    count_if(waiting.priority = '{{ priority }}') as {{ priority }}_tickets,
    {% endfor -%}
    min(waiting.created_at) as oldest_created_at
from waiting
left join agents on agents.agent_id = waiting.agent_id
group by 1, 2
having count(*) > 0
order by tickets desc, agent
