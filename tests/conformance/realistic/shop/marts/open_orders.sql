{{ config(materialized='table') }}

select order_id, customer_id, placed_at
from {{ ref('stg_orders') }}
where placed_at <= current_timestamp()
  and (shipped_at is null or shipped_at > current_timestamp())
  and coalesce(cancelled_at > current_timestamp(), true)
