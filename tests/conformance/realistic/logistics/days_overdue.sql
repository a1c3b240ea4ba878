{{ config(materialized='temporal_view') }}

-- open shipments by how many days they are overdue today
with open_shipments as (
    select shipment_no, carrier_code, promised_by
    from {{ source('raw', 'raw_shipments') }}
    where picked_up_at is not null
      and (delivered_at is null or delivered_at > mz_now())
),

aged as (
    select
        shipment_no,
        upper(carrier_code) as carrier_code,
        greatest(datediff(current_date(), to_date(promised_by)), 0) as days_overdue
    from open_shipments
),

bucketed as (
    select
        carrier_code,
        case
            when days_overdue = 0 then '0'
            when days_overdue <= 2 then '1-2'
            when days_overdue <= 7 then '3-7'
            else '8+'
        end as days_overdue
    from aged
)

select carrier_code, days_overdue, count(*) as shipments
from bucketed
group by carrier_code, days_overdue
order by carrier_code, days_overdue
