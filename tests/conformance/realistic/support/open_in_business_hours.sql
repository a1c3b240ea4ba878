{{ config(materialized='temporal_view') }}

-- the queue that the day shift sees, empty outside of its hours
with tickets as (
    select * from {{ ref('stg_tickets') }}
),

agents as (
    select agent_id, name from {{ source('raw', 'raw_agents') }}
)

select
    tickets.ticket_id,
    agents.name as agent,
    tickets.priority,
    tickets.created_at
from tickets
left join agents on agents.agent_id = tickets.agent_id
where mz_now() >= tickets.created_at
  and (tickets.solved_at is null or mz_now() < tickets.solved_at)
  and hour(mz_now()) between 9 and 17
