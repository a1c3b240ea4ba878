{{ config(materialized='temporal_view') }}

with touches as (
    select
        to_date(touched_at) as touched_on,
        visitor_id,
        explode(split(coalesce(channels, 'unknown'), '\\|')) as channel
    from {{ source('raw', 'raw_touches') }}
    where to_date(touched_at) > date_sub(current_date(), 3)
      and to_date(touched_at) <= current_date()
),

by_day as (
    select touched_on, trim(lower(channel)) as channel, count(*) as touches, count(distinct visitor_id) as visitors
    from touches
    group by touched_on, trim(lower(channel))
),

final as (
    select
        touched_on,
        channel,
        touches,
        visitors,
        cast(touches / sum(touches) over (partition by touched_on) as decimal(5, 4)) as share_of_day,
        touches - lag(touches, 1, 0) over (partition by channel order by touched_on) as more_than_the_day_before
    from by_day
)

select * from final
