{{ config(materialized='temporal_view') }}

with delivered as (
    select
        upper(carrier_code) as carrier_code,
        destination,
        delivered_at <= promised_by as on_time,
        weight_kg
    from {{ source('raw', 'raw_shipments') }}
    where delivered_at is not null
      and mz_now() >= delivered_at
      and mz_now() < delivered_at + interval 30 days
)

select
    coalesce(carrier_code, 'all') as carrier_code,
    count(*) as deliveries,
    count_if(on_time) as on_time,
    cast(100 * count_if(on_time) / count(*) as decimal(5, 2)) as on_time_percent,
    avg(weight_kg) as mean_weight_kg,
    bool_and(on_time) as spotless,
    rank() over (order by count_if(on_time) / count(*) desc, count(*) desc) as place
from delivered
group by cube (carrier_code)
having count(*) >= 2
