{{ config(materialized='temporal_view') }}

with shipments as (
    select * from {{ ref('stg_shipments') }}
),

carriers as (
    select upper(code) as carrier_code, name, coalesce(grace, interval '0' hour) as grace
    from {{ source('raw', 'raw_carriers') }}
),

holds as (
    select shipment_no, max(released_at) as released_at, count(*) as holds
    from {{ source('raw', 'raw_customs_holds') }}
    group by shipment_no
)

select
    shipments.shipment_id,
    carriers.name as carrier,
    shipments.promised_by,
    coalesce(holds.holds, 0) as customs_holds,
    case
        when holds.holds > 0 and holds.released_at is null then 'at customs'
        when shipments.picked_up_at is null then 'not picked up'
        else 'on the way'
    end as whereabouts
from shipments
join carriers on carriers.carrier_code = shipments.carrier_code
left join holds on holds.shipment_no = shipments.shipment_id
where mz_now() > shipments.promised_by + carriers.grace
  and (shipments.delivered_at is null or mz_now() < shipments.delivered_at)
