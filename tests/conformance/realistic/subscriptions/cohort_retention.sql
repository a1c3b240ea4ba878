{{ config(materialized='temporal_view') }}

-- of each month's first subscribers, how many have used the product in the last 28 days
with cohorts as (
    select customer_id, cast(date_trunc('MONTH', min(started_at)) as date) as cohort_month
    from {{ source('raw', 'raw_subscriptions') }}
    group by customer_id
),

sizes as (
    select cohort_month, count(*) as customers
    from cohorts
    group by cohort_month
),

active as (
    select
        cohorts.cohort_month,
        count(distinct activity.customer_id) as active_customers,
        count(*) as events
    from {{ source('raw', 'raw_activity') }} as activity
    join cohorts on cohorts.customer_id = activity.customer_id
    where mz_now() >= activity.happened_at
      and mz_now() <= activity.happened_at + interval 28 days
    group by cohorts.cohort_month
)

select
    sizes.cohort_month,
    sizes.customers,
    coalesce(active.active_customers, 0) as active_customers,
    cast(100 * coalesce(active.active_customers, 0) / sizes.customers as decimal(5, 1)) as retention_percent
from sizes
left join active using (cohort_month)
order by sizes.cohort_month
