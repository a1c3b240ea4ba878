{{ config(materialized='temporal_view') }}

with sales as (
    select sku, moved_at, -quantity as sold
    from {{ source('raw', 'raw_stock_movements') }}
    where kind = 'sale'
),

by_product as (
    select
        products.sku,
        products.name,
        count(sales.moved_at) as sales_ever,
        max(sales.moved_at) as last_sold_at
    from {{ source('raw', 'raw_products') }} as products
    left join sales on sales.sku = products.sku
    group by products.sku, products.name
)

select
    sku,
    name,
    sales_ever,
    last_sold_at
from by_product
where last_sold_at is null
   or mz_now() > last_sold_at + interval 10 days
