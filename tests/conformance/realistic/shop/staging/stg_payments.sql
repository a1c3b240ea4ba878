{{ config(materialized='view') }}

select
    id as payment_id,
    order_id,
    customer_id,
    method,
    cast(amount_cents / 100 as decimal(12, 2)) as amount,
    paid_at
from {{ source('raw', 'raw_payments') }}
where method <> 'test'
