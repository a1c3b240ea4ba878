{{ config(materialized='temporal_view') }}

with churned as (
    select
        customer_id,
        plan_name,
        cancelled_at,
        mrr,
        floor(months_between(cancelled_at, started_at)) as age_in_months
    from {{ ref('int_subscriptions') }}
    where date_trunc('MONTH', mz_now()) = date_trunc('MONTH', cancelled_at) + interval 1 month
),

reasons as (
    select customer_id, lower(reason) as reason
    from {{ source('raw', 'raw_cancellation_surveys') }}
)

select
    coalesce(reasons.reason, 'not told') as reason,
    case
        when churned.age_in_months < 1 then 'first month'
        when churned.age_in_months < 12 then 'first year'
        else 'later'
    end as tenure,
    count(*) as customers,
    sum(churned.mrr) as lost_mrr
from churned
left join reasons on reasons.customer_id = churned.customer_id
group by 1, 2
