{{ config(materialized='table') }}

select
    (select count(*) from {{ ref('active_users') }}) as active_users,
    (select count(*) from {{ ref('open_orders') }}) as open_orders,
    (select count(*) from {{ ref('late_orders') }} where escalation = 'complaint') as complaints,
    (select count(*) from {{ ref('trials_that_end') }}) as trials_that_end,
    (select coalesce(sum(revenue), 0) from {{ ref('customer_revenue') }}) as revenue_of_30_days,
    (select count(*) from {{ ref('good_customers') }}) as good_customers
