{{ config(materialized='view') }}

select
    customer_id,
    count(*) as sessions,
    count(distinct device) as devices,
    max(started_at) as last_seen_at
from {{ ref('stg_sessions') }}
where started_at >= {{ dbt.dateadd('day', -30, dbt.current_timestamp()) }}
  and started_at <= {{ dbt.current_timestamp() }}
group by customer_id
