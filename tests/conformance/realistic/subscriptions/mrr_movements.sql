{{ config(materialized='temporal_view') }}

-- over a view that is temporal itself: what came and what is leaving, week by week
with active as (
    select * from {{ ref('active_subscriptions') }}
),

came as (
    select customer_id, plan_name, 'new' as movement, mrr
    from active
    where mz_now() < started_at + interval 1 week
),

leaving as (
    select customer_id, plan_name, 'leaving' as movement, -mrr as mrr
    from active
    where mz_now() >= cancelled_at - interval 1 week
),

movements as (
    select * from came
    union all
    select * from leaving
)

select plan_name, movement, count(*) as customers, sum(mrr) as mrr
from movements
group by plan_name, movement
