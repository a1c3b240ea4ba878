{{ config(materialized='view') }}

select event_id, customer_id, lower(kind) as kind, product, happened_at
from {{ source('raw', 'raw_events') }}
