{{ config(materialized='temporal_view') }}

with batches as (
    select batch_id, sku, quantity, expires_on, shelf
    from {{ source('raw', 'raw_batches') }}
    where quantity > 0
),

products as (
    select sku, name, coalesce(warn_days, 14) as warn_days, attributes['storage'] as storage
    from {{ source('raw', 'raw_products') }}
)

select
    batches.batch_id,
    products.name,
    products.storage,
    batches.quantity,
    batches.expires_on,
    date_sub(batches.expires_on, products.warn_days) as sell_off_from
from batches
join products on products.sku = batches.sku
where current_date() >= date_sub(batches.expires_on, products.warn_days)
  and current_date() <= batches.expires_on
