{{ config(materialized='ephemeral') }}

with source as (
    select * from {{ source('raw', 'raw_subscriptions') }}
),

plans as (
    select * from {{ source('raw', 'raw_plans') }}
),

joined as (
    select
        source.subscription_id,
        source.customer_id,
        plans.plan_name,
        plans.billing_interval,
        source.quantity,
        source.started_at,
        source.trial_ends_at,
        source.cancelled_at,
        cast(
            case plans.billing_interval
                when 'year' then source.quantity * plans.price / 12
                when 'quarter' then source.quantity * plans.price / 3
                else source.quantity * plans.price
            end as decimal(12, 2)
        ) as mrr
    from source
    inner join plans on plans.plan_id = source.plan_id
)

select * from joined
