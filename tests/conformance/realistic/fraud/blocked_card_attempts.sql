{{ config(materialized='temporal_view') }}

-- transactions of today on a card that is blocked, or at a merchant that is listed, now
with transactions as (
    select * from {{ source('raw', 'raw_transactions') }}
),

cards as (
    select card_id, customer_id, blocked_from, blocked_until from {{ source('raw', 'raw_cards') }}
),

listed as (
    select merchant_id, listed_from, listed_until from {{ source('raw', 'raw_merchant_blocklist') }}
)

select
    t.txn_id,
    c.customer_id,
    t.merchant_id,
    t.amount,
    case when l.listed_until is null then 'listed for good' else 'listed' end as reason
from transactions t
join cards c on c.card_id = t.card_id
join listed l on l.merchant_id = t.merchant_id
where date_trunc('DAY', mz_now()) = date_trunc('DAY', t.txn_at)
  and mz_now() >= t.txn_at
  and (
    mz_now() between c.blocked_from and coalesce(c.blocked_until, timestamp '9999-12-31')
    or (mz_now() >= l.listed_from and (l.listed_until is null or mz_now() < l.listed_until))
  )
