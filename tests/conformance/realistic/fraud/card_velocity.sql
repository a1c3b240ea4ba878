{{ config(materialized='temporal_view', tags=['realtime']) }}

with transactions as (
    select * from {{ source('raw', 'raw_transactions') }} where txn_id is not null
),

recent as (
    select
        card_id,
        merchant_id,
        amount,
        upper(country) as country,
        declined
    from transactions
    where mz_now() >= txn_at
      and mz_now() < txn_at + interval 10 minutes
),

velocity as (
    select
        card_id,
        count(*) as transactions,
        count(distinct country) as countries,
        count(distinct merchant_id) as merchants,
        sum(amount) as amount,
        sum(case when declined then 1 else 0 end) as declines
    from recent
    group by card_id
)

select
    card_id,
    transactions,
    countries,
    merchants,
    amount,
    case
        when countries >= 2 then 'impossible travel'
        when declines * 2 > transactions then 'card testing'
        when transactions >= 4 then 'velocity'
    end as alert
from velocity
where transactions >= 3 or countries >= 2
