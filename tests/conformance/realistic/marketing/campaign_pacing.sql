{{ config(materialized='temporal_view') }}

-- how much of the budget is spent, beside how much of the time has passed
with campaigns as (
    select campaign_id, name, budget_cents, starts_at, ends_at
    from {{ source('raw', 'raw_campaigns') }}
    where mz_now() >= starts_at
      and mz_now() < ends_at
),

spend as (
    select campaign_id, sum(amount_cents) as spent_cents
    from {{ source('raw', 'raw_spend') }}
    group by campaign_id
),

joined as (
    select
        campaigns.*,
        coalesce(spend.spent_cents, 0) as spent_cents,
        (unix_millis(mz_now()) - unix_millis(campaigns.starts_at)) / (unix_millis(campaigns.ends_at) - unix_millis(campaigns.starts_at))
            as elapsed_share
    from campaigns
    left join spend on spend.campaign_id = campaigns.campaign_id
)

select
    campaign_id,
    name,
    spent_cents,
    budget_cents,
    round(elapsed_share, 4) as elapsed_share,
    case
        when budget_cents is null or budget_cents = 0 then 'no budget'
        when spent_cents > budget_cents then 'overspent'
        when spent_cents / budget_cents > elapsed_share + 0.1 then 'ahead'
        when spent_cents / budget_cents < elapsed_share - 0.1 then 'behind'
        else 'on track'
    end as pace
from joined
