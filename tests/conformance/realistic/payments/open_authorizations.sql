{{ config(materialized='temporal_view') }}

-- the latest version of each payment; an authorization that is not captured falls away after seven days
with payments as (
    select * from {{ ref('stg_payments') }}
),

deduplicated as (
    select *
    from (
        select
            payments.*,
            row_number() over (partition by payment_id order by loaded_at desc, status) as version_rank
        from payments
    ) as versions
    where version_rank = 1
),

final as (
    select
        payment_id,
        order_id,
        customer_id,
        amount,
        currency_code,
        created_at as authorized_at,
        created_at + interval 7 days as expires_at
    from deduplicated
    where status = 'authorized'
      and captured_at is null
      and mz_now() >= created_at
      and mz_now() < created_at + interval 7 days
)

select * from final
