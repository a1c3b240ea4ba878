{{ config(materialized='table', file_format='parquet') }}

select id, customer, amount, ts
from {{ source('shop', 'events') }}
where ts >= {{ clock() }} - interval 30 days
  and day >= cast({{ clock() }} - interval 30 days as date)
