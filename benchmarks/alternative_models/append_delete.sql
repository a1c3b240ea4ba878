{{ config(
    materialized='incremental', incremental_strategy='append',
    file_format='delta', partition_by='day', tblproperties={'delta.enableDeletionVectors': 'true'},
    post_hook="delete from {{ this }} where ts < {{ clock() }} - interval 30 days
               and day <= cast({{ clock() }} - interval 30 days as date)"
) }}

select id, customer, amount, ts, day
from {{ source('shop', 'events') }}
{% if is_incremental() %}
where ts > (select max(ts) from {{ this }})
  and day >= (select max(day) from {{ this }})
{% else %}
where ts >= {{ clock() }} - interval 30 days
  and day >= cast({{ clock() }} - interval 30 days as date)
{% endif %}
