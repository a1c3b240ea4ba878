{{ config(materialized='temporal_view') }}

-- heartbeats carry their time as milliseconds since the epoch, as devices send it
with heartbeats as (
    select device_id, received_ms, firmware
    from {{ source('raw', 'raw_heartbeats') }}
    where received_ms is not null
),

last_heartbeats as (
    select
        device_id,
        max(received_ms) as last_ms,
        max_by(firmware, received_ms) as firmware
    from heartbeats
    group by device_id
),

devices as (
    select device_id, site, coalesce(grace_seconds, 300) as grace_seconds
    from {{ source('raw', 'raw_devices') }}
    where decommissioned_at is null
)

select
    devices.device_id,
    devices.site,
    last_heartbeats.firmware,
    timestamp_millis(last_heartbeats.last_ms) as last_seen_at
from devices
left join last_heartbeats on last_heartbeats.device_id = devices.device_id
where mz_now() > coalesce(last_heartbeats.last_ms, 0) + devices.grace_seconds * 1000
