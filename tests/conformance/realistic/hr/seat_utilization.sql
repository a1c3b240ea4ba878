{{ config(materialized='temporal_view') }}

with contracts as (
    select product, sum(seats) as seats, min(ends_at) as next_renewal_at
    from {{ source('raw', 'raw_licence_contracts') }}
    where mz_now() >= starts_at and mz_now() < ends_at
    group by product
),

used as (
    select
        product,
        count(distinct employee_no) as assigned,
        count(distinct case when last_used_at > assigned_at then employee_no end) as ever_used
    from {{ source('raw', 'raw_seat_assignments') }}
    where mz_now() >= assigned_at
      and (revoked_at is null or mz_now() < revoked_at)
    group by product
),

idle as (
    select product, count(distinct employee_no) as idle
    from {{ source('raw', 'raw_seat_assignments') }}
    where revoked_at is null
      and mz_now() >= greatest(assigned_at, last_used_at) + interval 30 days
    group by product
)

select
    contracts.product,
    contracts.seats,
    coalesce(used.assigned, 0) as assigned,
    coalesce(used.ever_used, 0) as ever_used,
    coalesce(idle.idle, 0) as idle_for_a_month,
    cast(coalesce(used.assigned, 0) / contracts.seats as decimal(6, 3)) as utilization,
    case when used.assigned > contracts.seats then 'too few' when idle.idle > 0 then 'reclaim' else 'fine' end as advice,
    contracts.next_renewal_at
from contracts
left join used on used.product = contracts.product
left join idle on idle.product = contracts.product
