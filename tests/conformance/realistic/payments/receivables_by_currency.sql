{{ config(materialized='temporal_view') }}

-- what is authorized and not captured, in euros at the rate of the moment
with rates as (
    select
        upper(currency) as currency_code,
        rate_to_eur,
        valid_from,
        coalesce(valid_to, timestamp '9999-12-31 00:00:00') as valid_to
    from {{ source('raw', 'raw_fx_rates') }}
),

payments as (
    select * from {{ ref('stg_payments') }} where captured_at is null
),

converted as (
    select
        payments.payment_id,
        payments.currency_code,
        rates.rate_to_eur,
        cast(payments.amount_cents * rates.rate_to_eur as decimal(18, 4)) as eur_cents
    from payments
    inner join rates
        on rates.currency_code = payments.currency_code
       and mz_now() >= rates.valid_from
       and mz_now() < rates.valid_to
)

select
    currency_code,
    count(distinct payment_id) as payments,
    sum(eur_cents) as eur_cents,
    max(rate_to_eur) as rate_to_eur
from converted
group by 1
