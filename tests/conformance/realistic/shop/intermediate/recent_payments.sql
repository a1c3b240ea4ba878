{{ config(materialized='incremental', incremental_strategy='append') }}

select payment_id, order_id, customer_id, method, amount, paid_at
from {{ ref('stg_payments') }}
where paid_at > current_timestamp() - interval 30 days
{% if is_incremental() %}
  and paid_at > (select max(paid_at) from {{ this }})
{% endif %}
