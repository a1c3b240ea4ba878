{{ config(materialized='temporal_view') }}

with recent as (
    select
        card_id,
        txn_id,
        txn_at,
        country,
        get_json_object(device, '$.id') as device_id
    from {{ source('raw', 'raw_transactions') }}
    where not coalesce(declined, false)
      and txn_at <= mz_now()
      and txn_at > mz_now() - interval 24 hours
),

with_previous as (
    select
        recent.*,
        lag(country) over (partition by card_id order by txn_at, txn_id) as previous_country,
        lag(txn_at) over (partition by card_id order by txn_at, txn_id) as previous_at
    from recent
),

final as (
    select
        card_id,
        txn_id,
        previous_country,
        country,
        device_id,
        cast(unix_timestamp(txn_at) - unix_timestamp(previous_at) as int) div 60 as minutes_between
    from with_previous
    where previous_country is not null
      and previous_country <> country
      and txn_at < previous_at + interval 2 hours
)

select * from final
