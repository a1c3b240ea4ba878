{{ config(materialized='temporal_view') }}

with shipments as (
    select * from {{ source('raw', 'raw_shipments') }}
),

-- which hub a place belongs to changes now and then
hubs as (
    select place, hub, dbt_valid_from, dbt_valid_to
    from {{ source('raw', 'places_snapshot') }}
),

on_the_way as (
    select
        origin_hubs.hub as from_hub,
        destination_hubs.hub as to_hub,
        shipments.weight_kg,
        shipments.promised_by
    from shipments
    join hubs as origin_hubs on origin_hubs.place = shipments.origin
    join hubs as destination_hubs on destination_hubs.place = shipments.destination
    where mz_now() >= shipments.picked_up_at
      and mz_now() < coalesce(shipments.delivered_at, timestamp '9999-12-31')
      and mz_now() >= origin_hubs.dbt_valid_from
      and mz_now() < coalesce(origin_hubs.dbt_valid_to, timestamp '9999-12-31')
      and mz_now() >= destination_hubs.dbt_valid_from
      and mz_now() < coalesce(destination_hubs.dbt_valid_to, timestamp '9999-12-31')
)

select
    from_hub,
    to_hub,
    count(*) as shipments,
    sum(weight_kg) as weight_kg,
    avg(weight_kg) as mean_weight_kg,
    min(promised_by) as next_promised_by
from on_the_way
group by from_hub, to_hub
