{{ config(materialized='temporal_view') }}

with slots as (
    select
        slot_id,
        dock,
        starts_at,
        starts_at + make_dt_interval(0, 0, coalesce(minutes, 30), 0) as ends_at,
        array_distinct(filter(shipment_nos, n -> n is not null)) as shipment_nos
    from {{ source('raw', 'raw_dock_slots') }}
    where not coalesce(cancelled, false)
),

upcoming as (
    select *
    from slots
    where mz_now() >= starts_at - interval 12 hours
      and mz_now() < ends_at
),

loads as (
    select upcoming.slot_id, n as shipment_no
    from upcoming
    lateral view outer explode(upcoming.shipment_nos) exploded as n
)

select
    upcoming.dock,
    upcoming.slot_id,
    upcoming.starts_at,
    count(shipments.shipment_no) as shipments,
    coalesce(sum(shipments.weight_kg), 0) as weight_kg
from upcoming
join loads on loads.slot_id = upcoming.slot_id
left join {{ source('raw', 'raw_shipments') }} as shipments on shipments.shipment_no = loads.shipment_no
group by upcoming.dock, upcoming.slot_id, upcoming.starts_at
