{{ config(materialized='temporal_view') }}

with trials as (
    select subscription_id, customer_id, plan_name, trial_ends_at
    from {{ ref('int_subscriptions') }}
    where trial_ends_at is not null
      and cancelled_at is null
),

payment_methods as (
    select customer_id, max(added_at) as last_added_at
    from {{ source('raw', 'raw_payment_methods') }}
    where removed_at is null
    group by customer_id
)

select
    trials.customer_id,
    trials.subscription_id,
    trials.plan_name,
    trials.trial_ends_at,
    datediff(trials.trial_ends_at, mz_now()) as days_left
from trials
left join payment_methods on payment_methods.customer_id = trials.customer_id
where payment_methods.customer_id is null
  and mz_now() >= trials.trial_ends_at - interval 3 days
  and mz_now() < trials.trial_ends_at
