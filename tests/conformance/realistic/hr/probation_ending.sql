{{ config(materialized='temporal_view') }}

-- a reminder to managers, from four weeks before the end of somebody's probation of six months
with employees as (
    select * from {{ ref('active_employees') }}
),

reviews as (
    select employee_no, held_on, outcome from {{ source('raw', 'raw_reviews') }} where kind = 'probation'
)

select
    employees.employee_no,
    employees.manager_no,
    add_months(employees.hired_on, 6) as probation_ends_on
from employees
left join reviews on reviews.employee_no = employees.employee_no
where reviews.held_on is null
  and current_date() >= add_months(employees.hired_on, 6) - interval 4 weeks
  and current_date() < add_months(employees.hired_on, 6)
