{{ config(materialized='temporal_view', tags=['finance']) }}
{%- set payment_methods = ['card', 'bank_transfer', 'wallet', 'gift_card'] %}

with payments as (
    select * from {{ ref('stg_payments') }}
),

last_30_days as (
    select *
    from payments
    where status in ('captured', 'settled')
      and mz_now() >= captured_at
      and mz_now() < captured_at + interval 30 days
),

final as (
    select
        customer_id,
        currency_code,
        count(*) as payments,
        {%- for method in payment_methods %}
        sum(case when payment_method = '{{ method }}' then amount_cents else 0 end) as {{ method }}_cents,
        {%- endfor %}
        sum(amount_cents) as total_cents
    from last_30_days
    group by customer_id, currency_code
)

select * from final
