{{ config(materialized='temporal_view', aggregates='groups') }}

with active as (
    select *
    from {{ ref('int_subscriptions') }}
    where mz_now() >= coalesce(trial_ends_at, started_at)
      and (cancelled_at is null or mz_now() < cancelled_at)
),

final as (
    select
        plan_name,
        billing_interval,
        count(*) as subscriptions,
        sum(quantity) as seats,
        sum(mrr) as mrr,
        sum(mrr) * 12 as arr,
        round(sum(mrr) / count(*), 2) as mrr_per_subscription
    from active
    group by all
)

select * from final
