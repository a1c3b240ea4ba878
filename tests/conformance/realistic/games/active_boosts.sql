{{ config(materialized='temporal_view') }}

with inventory as (
    select
        player_id,
        item.kind as kind,
        item.factor as factor,
        activated_at,
        activated_at + case item.kind
            when 'xp' then interval '30' minute
            when 'gold' then interval '2' hour
            when 'pass' then interval '7' day
        end as ends_at
    from {{ source('raw', 'raw_purchases') }}
    lateral view explode(items) exploded as item
    where activated_at is not null
),

active as (
    select player_id, kind, factor, ends_at
    from inventory
    where mz_now() >= activated_at and mz_now() < ends_at
)

select
    player_id,
    kind,
    max(factor) as factor,
    count(*) as stacked,
    max(ends_at) as ends_at
from active
group by player_id, kind
