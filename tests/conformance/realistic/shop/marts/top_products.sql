{{ config(materialized='table') }}

with this_month as (
    select product, sum(quantity) as sold, sum(revenue) as revenue
    from {{ ref('int_order_lines') }}
    where date_trunc('month', placed_at) = date_trunc('month', current_date())
      and placed_at <= current_timestamp()
    group by product
)

select product, sold, revenue, row_number() over (order by revenue desc, product) as place
from this_month
order by place
limit 3
