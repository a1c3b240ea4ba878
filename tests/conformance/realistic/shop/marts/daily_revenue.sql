{{ config(
    materialized='incremental',
    incremental_strategy='insert_overwrite',
    partition_by='day',
    on_schema_change='append_new_columns'
) }}

select cast(paid_at as date) as day, method, count(*) as payments, sum(amount) as revenue
from {{ ref('stg_payments') }}
where cast(paid_at as date) > date_sub(current_date(), 14)
  and paid_at <= current_timestamp()
{% if is_incremental() %}
  and cast(paid_at as date) >= date_sub(current_date(), 3)
{% endif %}
group by cast(paid_at as date), method
