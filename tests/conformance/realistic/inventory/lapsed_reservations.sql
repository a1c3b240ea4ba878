{{ config(materialized='temporal_view') }}

with reservations as (
    select
        reservation_id,
        customer_id,
        sku,
        reserved_at,
        released_at,
        reserved_at + ttl_minutes * interval 1 minute as lapses_at
    from {{ source('raw', 'raw_reservations') }}
),

-- whoever let a reservation lapse hears of it for a day, unless another one of the same product is alive
lapsed as (
    select *
    from reservations
    where released_at is null
      and mz_now() >= lapses_at
      and mz_now() < lapses_at + interval '1' day
),

alive as (
    select customer_id, sku
    from reservations
    where released_at is null and mz_now() >= reserved_at and mz_now() < lapses_at
)

select lapsed.reservation_id, lapsed.customer_id, lapsed.sku, lapsed.lapses_at
from lapsed
left join alive on alive.customer_id = lapsed.customer_id and alive.sku = lapsed.sku
where alive.customer_id is null
