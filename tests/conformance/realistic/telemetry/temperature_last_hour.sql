{{ config(materialized='temporal_view') }}

with readings as (
    select
        device_id,
        measured_at,
        value
    from {{ source('raw', 'raw_readings') }}
    where metric = 'temperature'
      and value is not null
      and measured_at between mz_now() - interval 1 hour and mz_now()
),

devices as (
    select * from {{ source('raw', 'raw_devices') }}
)

select
    devices.site,
    count(*) as readings,
    count(distinct readings.device_id) as devices,
    round(avg(readings.value), 3) as average,
    min(readings.value) as lowest,
    max(readings.value) as highest,
    max_by(readings.value, readings.measured_at) as latest
from readings
inner join devices using (device_id)
group by devices.site
