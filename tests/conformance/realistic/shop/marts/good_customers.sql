{{ config(materialized='table') }}

select customer_id, count(*) as payments, sum(amount) as revenue
from {{ ref('recent_payments') }}
where paid_at >= {{ dbt.current_timestamp() }} - interval 7 days
group by customer_id
having sum(amount) >= 100
