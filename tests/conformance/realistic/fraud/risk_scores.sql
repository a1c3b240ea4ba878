{{ config(materialized='temporal_view') }}

-- points that fade away: each signal counts for as long as it is thought to mean something
with declines as (
    select card_id, 'decline' as signal, 10 as points
    from {{ source('raw', 'raw_transactions') }}
    where declined
      and mz_now() >= txn_at
      and mz_now() < txn_at + interval 1 hour
),

large as (
    select card_id, 'large amount' as signal, cast(least(amount / 100, 50) as int) as points
    from {{ source('raw', 'raw_transactions') }}
    where amount > 500
      and mz_now() >= txn_at
      and mz_now() < txn_at + interval 3 days
),

new_card as (
    select card_id, 'new card' as signal, 15 as points
    from {{ source('raw', 'raw_cards') }}
    where mz_now() >= issued_at
      and mz_now() < issued_at + interval 2 weeks
),

signals as (
    select * from declines
    union all
    select * from large
    union all
    select * from new_card
)

select
    card_id,
    sum(points) as score,
    count(distinct signal) as signals,
    case when sum(points) >= 40 then 'block' when sum(points) >= 20 then 'review' else 'ok' end as decision
from signals
group by card_id
