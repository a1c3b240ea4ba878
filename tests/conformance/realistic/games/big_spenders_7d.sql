{{ config(materialized='temporal_view') }}

with spenders as (
    select
        p.region,
        s.player_id,
        sum(s.price_cents) as spent_cents,
        count(*) as purchases,
        max_by(s.purchase_id, s.purchased_at) as last_purchase_id
    from {{ source('raw', 'raw_purchases') }} as s
    join {{ source('raw', 'raw_players') }} as p on p.player_id = s.player_id
    where mz_now() >= s.purchased_at
      and mz_now() < s.purchased_at + interval 7 days
      and not s.refunded
    group by p.region, s.player_id
    having sum(s.price_cents) > (select avg(price_cents) / 4 from {{ source('raw', 'raw_purchases') }})
),

ranked as (
    select *, row_number() over (partition by region order by spent_cents desc, player_id) as place
    from spenders
)

select region, player_id, spent_cents, purchases, last_purchase_id
from ranked
where place <= 2
