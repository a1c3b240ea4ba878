select id as order_id, customer_id, ordered_at, status, {{ dollars('cents') }} as amount
from {{ ref('orders') }}
where ordered_at >= '{{ var("cutoff") }}'
