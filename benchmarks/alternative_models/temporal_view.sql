{{ config(materialized='temporal_view') }}

select id, customer, amount, ts
from {{ source('shop', 'events') }}
where mz_now() <= ts + interval 30 days
