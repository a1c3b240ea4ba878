select c.customer_id, c.name, count(p.order_id) as orders, coalesce(sum(p.amount), 0) as spent
from {{ ref('stg_customers') }} c
left join {{ ref('paid') }} p on p.customer_id = c.customer_id
group by c.customer_id, c.name
