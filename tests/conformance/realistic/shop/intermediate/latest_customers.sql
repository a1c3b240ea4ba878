{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key='customer_id'
) }}

select customer_id, email, country, plan, trial_ends_at, updated_at
from {{ ref('stg_customers') }}
where updated_at > current_timestamp() - interval 90 days
{% if is_incremental() %}
  and updated_at > (select max(updated_at) from {{ this }})
{% endif %}
