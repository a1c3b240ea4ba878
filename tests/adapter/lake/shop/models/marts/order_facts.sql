{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id') }}
select order_id, status, ordered_at, to_date(ordered_at) as ordered_on, amount
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where ordered_at >= (select max(ordered_at) from {{ this }})
{% endif %}
