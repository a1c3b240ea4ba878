{{ config(materialized='temporal_view') }}
{% set bucket = '5 minutes' %}

with logins as (
    select
        user_name,
        ip,
        succeeded,
        attempted_at
    from {{ source('raw', 'raw_logins') }}
    where mz_now() <= attempted_at + interval 1 hour
      and mz_now() >= attempted_at
)

select
    window(attempted_at, '{{ bucket }}').start as bucket_start,
    ip,
    count(*) as attempts,
    count_if(not succeeded) as failures,
    count(distinct user_name) as user_names,
    max(attempted_at) as last_attempt_at
from logins
where ip is not null
group by window(attempted_at, '{{ bucket }}'), ip
having count_if(not succeeded) >= 2
