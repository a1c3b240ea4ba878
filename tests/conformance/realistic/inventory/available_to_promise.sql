{{ config(materialized='temporal_view') }}

-- stock on hand less what is reserved at this moment; a reservation ends by itself after its minutes
with on_hand as (
    select sku, warehouse, sum(quantity) as on_hand
    from {{ source('raw', 'raw_stock_movements') }}
    where moved_at <= mz_now()
    group by sku, warehouse
),

reserved as (
    select
        sku,
        coalesce(warehouse, 'main') as warehouse,
        sum(quantity) as reserved,
        count(*) as reservations
    from {{ source('raw', 'raw_reservations') }}
    where released_at is null
      and mz_now() >= reserved_at
      and mz_now() < reserved_at + make_interval(0, 0, 0, 0, 0, ttl_minutes, 0)
    group by sku, coalesce(warehouse, 'main')
),

joined as (
    select
        coalesce(on_hand.sku, reserved.sku) as sku,
        coalesce(on_hand.warehouse, reserved.warehouse) as warehouse,
        coalesce(on_hand.on_hand, 0) as on_hand,
        coalesce(reserved.reserved, 0) as reserved,
        coalesce(reserved.reservations, 0) as reservations
    from on_hand
    full outer join reserved on reserved.sku = on_hand.sku and reserved.warehouse = on_hand.warehouse
)

select
    *,
    on_hand - reserved as available,
    case when on_hand <= 0 then 'out' when on_hand - reserved <= 0 then 'all reserved' else 'in stock' end as status
from joined
