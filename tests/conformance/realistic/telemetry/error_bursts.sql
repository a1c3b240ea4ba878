{{ config(materialized='temporal_view') }}

-- sliding windows of ten minutes that have at least two errors; each is shown for half an hour after it ended
with errors as (
    select
        device_id,
        measured_at,
        get_json_object(payload, '$.error.code') as code,
        window(measured_at, '10 minutes', '5 minutes') as span
    from {{ source('raw', 'raw_readings') }}
    where get_json_object(payload, '$.error') is not null
),

bursts as (
    select
        device_id,
        span.start as span_start,
        span.end as span_end,
        count(*) as errors,
        array_join(sort_array(collect_set(code)), ',') as codes
    from errors
    group by device_id, span
    having count(*) >= 2
)

select *
from bursts
where mz_now() >= span_end
  and mz_now() < span_end + interval 30 minutes
