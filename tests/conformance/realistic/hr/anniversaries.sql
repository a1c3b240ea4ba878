{{ config(materialized='temporal_view') }}

-- over a plain view that renames the columns of a temporal one
with employees as (
    select * from {{ ref('stg_active_employees') }}
),

years as (
    select employee_no, work_email, hired_on, explode(array(1, 5, 10, 25)) as years
    from employees
)

select employee_no, work_email, years, add_months(hired_on, 12 * years) as celebrated_on
from years
where current_date() = add_months(hired_on, 12 * years)
