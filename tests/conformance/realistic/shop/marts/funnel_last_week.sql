{{ config(materialized='table') }}

select
    count(distinct case when kind = 'visit' then customer_id end) as visitors,
    count(distinct case when kind = 'basket' then customer_id end) as with_a_basket,
    count(distinct case when kind = 'checkout' then customer_id end) as at_checkout,
    count(distinct case when kind = 'purchase' then customer_id end) as buyers
from {{ ref('stg_events') }}
where happened_at >= {{ dbt.dateadd('week', -1, dbt.date_trunc('week', dbt.current_timestamp())) }}
  and happened_at < {{ dbt.date_trunc('week', dbt.current_timestamp()) }}
