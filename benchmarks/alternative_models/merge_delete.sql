{{ config(
    materialized='incremental', incremental_strategy='merge', unique_key='id',
    file_format='delta', partition_by='day', tblproperties={'delta.enableDeletionVectors': 'true'},
    incremental_predicates=["DBT_INTERNAL_DEST.day >= cast(" ~ clock() ~ " - interval 1 day as date)"],
    post_hook="delete from {{ this }} where ts < {{ clock() }} - interval 30 days
               and day <= cast({{ clock() }} - interval 30 days as date)"
) }}

select id, customer, amount, ts, day
from {{ source('shop', 'events') }}
{% if is_incremental() %}
where day >= cast({{ clock() }} - interval 1 day as date)
{% else %}
where ts >= {{ clock() }} - interval 30 days
  and day >= cast({{ clock() }} - interval 30 days as date)
{% endif %}
