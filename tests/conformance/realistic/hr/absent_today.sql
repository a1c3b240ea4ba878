{{ config(materialized='temporal_view') }}

with absences as (
    select employee_no, kind, first_day, last_day
    from {{ source('raw', 'raw_leave_requests') }}
    where status in ('approved', 'taken')
),

days as (
    select employee_no, kind, last_day, explode(sequence(first_day, last_day, interval 1 day)) as day
    from absences
    where last_day >= first_day
),

holidays as (
    select day, name from {{ source('raw', 'raw_holidays') }}
)

select distinct
    days.employee_no,
    days.kind,
    days.day,
    datediff(days.last_day, days.day) + 1 as days_left
from days
left join holidays on holidays.day = days.day
where holidays.day is null
  and weekday(days.day) < 5
  and cast(mz_now() as date) = days.day
