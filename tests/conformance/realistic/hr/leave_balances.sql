{{ config(materialized='temporal_view') }}

-- granted days count until they lapse, taken days from the day the leave begins
with grants as (
    select employee_no, days, granted_on, coalesce(lapses_on, add_months(granted_on, 15)) as lapses_on
    from {{ source('raw', 'raw_leave_grants') }}
),

taken as (
    select
        employee_no,
        -days as days,
        first_day
    from {{ source('raw', 'raw_leave_requests') }}
    where status = 'approved' and kind <> 'sick'
),

movements as (
    select employee_no, 'granted' as movement, days
    from grants
    where mz_now() >= granted_on and mz_now() < lapses_on
    union all
    select employee_no, 'taken' as movement, days
    from taken
    where mz_now() >= first_day and mz_now() < add_months(first_day, 15)
)

select
    employee_no,
    sum(days) as balance,
    coalesce(sum(days) filter (where movement = 'granted'), 0) as granted,
    coalesce(-sum(days) filter (where movement = 'taken'), 0) as taken
from movements
group by employee_no
