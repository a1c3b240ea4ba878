{{ config(materialized='temporal_view') }}

-- a player waits at most five minutes; the longer, the wider the range of ratings
with tickets as (
    select ticket_id, player_id, mode, enqueued_at, matched_at
    from {{ source('raw', 'raw_queue_tickets') }}
),

players as (
    select player_id, coalesce(rating, 1000) as rating, region from {{ source('raw', 'raw_players') }}
),

waiting as (
    select
        tickets.*,
        players.rating,
        players.region,
        case
            when mz_now() < enqueued_at + interval 30 seconds then 50
            when mz_now() < enqueued_at + interval 90 seconds then 150
            else 400
        end as rating_range
    from tickets
    join players on players.player_id = tickets.player_id
    where mz_now() >= enqueued_at
      and mz_now() < enqueued_at + interval 5 minutes
      and (matched_at is null or matched_at > mz_now())
)

select
    region,
    mode,
    rating_range,
    count(*) as players,
    min(rating) as lowest_rating,
    max(rating) as highest_rating
from waiting
group by region, mode, rating_range
