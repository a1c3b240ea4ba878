{{ config(materialized='table') }}

select
    customer_id,
    count(*) as payments,
    sum(amount) as revenue,
    max(paid_at) as last_paid_at
from {{ ref('recent_payments') }}
group by customer_id
