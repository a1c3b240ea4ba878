{{ config(materialized='ephemeral') }}

with source as (
    select * from {{ source('raw', 'raw_shipments') }}
),

deduplicated as (
    select distinct shipment_no, carrier_code, origin, destination, weight_kg, picked_up_at, promised_by, delivered_at
    from source
    where shipment_no is not null
)

select
    shipment_no as shipment_id,
    upper(carrier_code) as carrier_code,
    origin,
    destination,
    weight_kg,
    picked_up_at,
    promised_by,
    delivered_at
from deduplicated
