{{ config(materialized='view') }}

select session_id, customer_id, device, started_at, ended_at
from {{ source('raw', 'raw_sessions') }}
where customer_id is not null
