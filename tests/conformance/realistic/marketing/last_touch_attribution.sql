{{ config(materialized='temporal_view') }}

with conversions as (
    select order_id, visitor_id, revenue, converted_at
    from {{ source('raw', 'raw_conversions') }}
    where mz_now() >= converted_at
      and mz_now() < converted_at + interval 30 days
),

touches as (
    select
        visitor_id,
        touched_at,
        coalesce(nullif(parse_url(landing_page, 'QUERY', 'utm_source'), ''), 'direct') as source,
        parse_url(landing_page, 'QUERY', 'utm_campaign') as campaign
    from {{ source('raw', 'raw_touches') }}
),

candidates as (
    select
        conversions.order_id,
        conversions.revenue,
        touches.source,
        touches.campaign,
        row_number() over (
            partition by conversions.order_id
            order by touches.touched_at desc nulls last, touches.source, touches.campaign
        ) as recency
    from conversions
    left join touches
        on touches.visitor_id = conversions.visitor_id
       and touches.touched_at <= conversions.converted_at
       and touches.touched_at > conversions.converted_at - interval 7 days
)

select
    coalesce(source, 'unattributed') as source,
    campaign,
    count(*) as conversions,
    sum(revenue) as revenue
from candidates
where recency = 1
group by 1, 2
