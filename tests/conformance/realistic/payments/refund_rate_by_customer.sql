{{ config(materialized='temporal_view') }}
{%- set lookback = var('refund_lookback_days', 14) %}

with paid as (
    select customer_id, sum(amount_cents) as paid_cents, count(*) as payments
    from {{ ref('stg_payments') }}
    where created_at <= mz_now()
      and mz_now() <= created_at + interval {{ lookback }} days
      and status <> 'failed'
    group by customer_id
),

refunded as (
    select p.customer_id, sum(r.amount_cents) as refunded_cents, min(r.requested_at) as first_refund_at
    from {{ source('raw', 'raw_refunds') }} as r
    inner join {{ ref('stg_payments') }} as p on p.payment_id = r.payment_ref
    where mz_now() >= r.requested_at
      and mz_now() <= r.requested_at + interval {{ lookback }} days
    group by p.customer_id
)

select
    paid.customer_id,
    paid.paid_cents,
    coalesce(refunded.refunded_cents, 0) as refunded_cents,
    cast(coalesce(refunded.refunded_cents, 0) / nullif(paid.paid_cents, 0) as decimal(9, 4)) as refund_rate,
    refunded.first_refund_at,
    refunded.customer_id is null as never_refunded
from paid
left join refunded on refunded.customer_id <=> paid.customer_id
