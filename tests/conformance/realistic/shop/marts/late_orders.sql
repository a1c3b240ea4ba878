{{ config(materialized='table') }}

-- support has to call after a day; after three days it is a complaint
with waiting as (
    select
        order_id,
        customer_id,
        placed_at,
        {{ dbt.datediff('placed_at', dbt.current_timestamp(), 'hour') }} as hours_waiting
    from {{ ref('stg_orders') }}
    where cancelled_at is null
      and current_timestamp() >= placed_at + interval 1 day
      and (shipped_at is null or current_timestamp() < shipped_at)
)

select
    order_id,
    customer_id,
    hours_waiting,
    case when hours_waiting > 72 then 'complaint' else 'call' end as escalation
from waiting
