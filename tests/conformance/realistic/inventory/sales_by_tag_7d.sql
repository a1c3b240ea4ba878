{{ config(materialized='temporal_view') }}

with tagged as (
    select sku, tag
    from {{ source('raw', 'raw_products') }}
    lateral view explode(tags) exploded as tag
),

sales as (
    select
        sku,
        warehouse,
        -quantity as quantity,
        moved_at
    from {{ source('raw', 'raw_stock_movements') }}
    where kind = 'sale'
      and mz_now() between moved_at and moved_at + interval 1 week
),

final as (
    select
        tagged.tag,
        sales.warehouse,
        sum(sales.quantity) as sold,
        count(distinct sales.sku) as products,
        grouping(sales.warehouse) as is_total
    from sales
    join tagged on tagged.sku = sales.sku
    group by tagged.tag, rollup (sales.warehouse)
)

select * from final where sold is not null
