{{ config(materialized='view') }}

with source as (
    select * from {{ source('raw', 'raw_payments') }}
),

renamed as (
    select
        id as payment_id,
        order_ref as order_id,
        customer as customer_id,
        lower(trim(method)) as payment_method,
        coalesce(nullif(upper(currency), ''), 'EUR') as currency_code,
        cast(amount_cents as decimal(12, 2)) / 100 as amount,
        amount_cents,
        status,
        created_at,
        captured_at,
        loaded_at
    from source
    where id is not null
)

select * from renamed
