{{ config(materialized='view') }}

select
    orders.order_id,
    orders.placed_at,
    items.product,
    items.quantity,
    items.quantity * items.price as revenue
from {{ ref('stg_orders') }} as orders
inner join {{ source('raw', 'raw_order_items') }} as items on items.order_id = orders.order_id
where orders.cancelled_at is null
