{{ config(materialized='temporal_view') }}

-- the last ticket of each player who waits, as it would be written for another warehouse
with tickets as (
    select * from {{ source('raw', 'raw_queue_tickets') }}
),

players as (
    select player_id, nickname from {{ source('raw', 'raw_players') }}
)

select
    tickets.player_id,
    players.nickname,
    tickets.ticket_id,
    tickets.mode
from tickets
left join players on players.player_id = tickets.player_id
where mz_now() >= tickets.enqueued_at
  and mz_now() < tickets.enqueued_at + interval 5 minutes
qualify row_number() over (partition by tickets.player_id order by tickets.enqueued_at desc, tickets.ticket_id) = 1
