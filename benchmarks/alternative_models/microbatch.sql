{{ config(
    materialized='incremental', incremental_strategy='microbatch',
    event_time='ts', batch_size='day', lookback=1, begin=var('begin'),
    file_format='delta', partition_by='day',
    post_hook="delete from {{ this }} where ts < {{ clock() }} - interval 30 days
               and day <= cast({{ clock() }} - interval 30 days as date)"
) }}

select id, customer, amount, ts, day
from {{ source('shop', 'events') }}
