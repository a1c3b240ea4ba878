{{ config(materialized='view') }}

with latest as (
    select customer_id, max_by(trial_ends_at, updated_at) as trial_ends_at, max_by(plan, updated_at) as plan
    from {{ ref('stg_customers') }}
    group by customer_id
)

select
    customer_id,
    trial_ends_at,
    {{ dbt.datediff(dbt.current_timestamp(), 'trial_ends_at', 'day') }} as days_left
from latest
where plan = 'trial'
  and trial_ends_at > {{ dbt.current_timestamp() }}
  and trial_ends_at <= {{ dbt.dateadd('day', 3, dbt.current_timestamp()) }}
