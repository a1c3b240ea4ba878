select * from {{ ref('customer_orders') }} where spent < 0
