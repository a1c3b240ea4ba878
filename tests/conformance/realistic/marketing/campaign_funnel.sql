{{ config(materialized='temporal_view') }}
{% set steps = ['impression', 'click', 'signup', 'order'] %}

with campaigns as (
    select campaign_id, name, starts_at, ends_at
    from {{ source('raw', 'raw_campaigns') }}
),

events as (
    select campaign_id, visitor_id, step, happened_at
    from {{ source('raw', 'raw_campaign_events') }}
),

running as (
    select c.campaign_id, c.name, e.visitor_id, e.step
    from campaigns as c
    join events as e
        on e.campaign_id = c.campaign_id
       and e.happened_at between c.starts_at and coalesce(c.ends_at, e.happened_at)
    where mz_now() >= c.starts_at
      and (c.ends_at is null or mz_now() < c.ends_at + interval 2 days)
      and mz_now() >= e.happened_at
)

select
    campaign_id,
    name,
    {%- for step in steps %}
    count(distinct case when step = '{{ step }}' then visitor_id end) as {{ step }}s,
    {%- endfor %}
    count(*) as events
from running
group by campaign_id, name
