{{ config(materialized='temporal_view') }}

select
    subscription_id,
    customer_id,
    plan_name,
    quantity,
    mrr,
    started_at,
    cancelled_at,
    trial_ends_at
from {{ ref('int_subscriptions') }}
where mz_now() >= started_at
  and (mz_now() < cancelled_at or cancelled_at is null)
