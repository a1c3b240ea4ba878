{{ config(materialized='view') }}

select id, customer, amount, ts
from {{ source('shop', 'events') }}
where ts >= current_timestamp() - interval 30 days
  and day >= cast(current_timestamp() - interval 30 days as date)
