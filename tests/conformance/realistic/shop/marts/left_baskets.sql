{{ config(materialized='incremental', incremental_strategy='append') }}

-- mail to them goes out after an hour, and for two days at most
select baskets.event_id, baskets.customer_id, baskets.product, baskets.happened_at
from {{ ref('stg_events') }} as baskets
where baskets.kind = 'basket'
  and current_timestamp() >= baskets.happened_at + interval 1 hour
  and baskets.happened_at > current_timestamp() - interval 2 days
  and not exists (
    select 1
    from {{ ref('stg_events') }} as purchases
    where purchases.kind = 'purchase'
      and purchases.customer_id = baskets.customer_id
      and purchases.product = baskets.product
  )
{% if is_incremental() %}
  and baskets.event_id not in (select event_id from {{ this }})
{% endif %}
