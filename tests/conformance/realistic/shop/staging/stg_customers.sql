{{ config(materialized='view') }}

-- the shop's database writes a row for each change of a customer
select
    customer_id,
    lower(trim(email)) as email,
    coalesce(country, 'unknown') as country,
    plan,
    trial_ends_at,
    updated_at
from {{ source('raw', 'raw_customers') }}
