{{ config(materialized='temporal_view', expiration='60 days') }}

with disputes as (
    select * from {{ source('raw', 'raw_disputes') }}
),

payments as (
    select payment_id, customer_id, amount_cents from {{ ref('stg_payments') }} where status <> 'authorized'
),

refunds as (
    select payment_ref as payment_id, sum(amount_cents) as refunded_cents, count(*) as refunds
    from {{ source('raw', 'raw_refunds') }}
    where state = 'done'
    group by payment_ref
)

select
    disputes.dispute_id,
    payments.customer_id,
    payments.amount_cents - coalesce(refunds.refunded_cents, 0) as at_stake_cents,
    disputes.evidence_due_by,
    case
        when disputes.reason = 'fraud' then 'high'
        when payments.amount_cents > 10000 then 'high'
        when refunds.refunds is null then 'medium'
        else 'low'
    end as priority
from disputes
inner join payments on payments.payment_id = disputes.payment_id
left join refunds on refunds.payment_id = payments.payment_id
where disputes.closed_at is null
  and mz_now() between disputes.opened_at and disputes.evidence_due_by
