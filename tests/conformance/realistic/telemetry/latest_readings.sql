{{ config(materialized='temporal_view') }}

-- one value a device and metric: the latest of the last day
with readings as (
    select
        device_id,
        metric,
        value,
        measured_at,
        get_json_object(payload, '$.unit') as unit
    from {{ source('raw', 'raw_readings') }}
    where mz_now() >= measured_at
      and mz_now() < measured_at + interval '1' day
),

ranked as (
    select
        *,
        row_number() over (partition by device_id, metric order by measured_at desc, value desc) as place,
        count(*) over (partition by device_id, metric) as readings
    from readings
),

final as (
    select device_id, metric, value, unit, measured_at, readings
    from ranked
    where place = 1
)

select * from final
