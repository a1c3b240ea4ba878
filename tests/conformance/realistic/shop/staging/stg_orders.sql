{{ config(materialized='view') }}

with source as (
    select * from {{ source('raw', 'raw_orders') }}
),

renamed as (
    select
        id as order_id,
        customer_id,
        placed_at,
        shipped_at,
        cancelled_at
    from source
)

select * from renamed
