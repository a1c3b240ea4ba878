{{ config(materialized='temporal_view') }}

-- the version of each employee that holds now; future hires and changes are in the source already
with employees as (
    select
        employee_no,
        nullif(trim(department), '') as department,
        contract,
        fte,
        valid_from,
        lead(valid_from) over (partition by employee_no order by valid_from) as next_from,
        left_on
    from {{ source('raw', 'raw_employee_history') }}
),

current_versions as (
    select *
    from employees
    where current_date() >= valid_from
      and (next_from is null or current_date() < next_from)
      and (left_on is null or current_date() <= left_on)
),

departments as (
    select code, name, cost_centre from {{ source('raw', 'raw_departments') }}
)

select
    coalesce(departments.name, 'unknown') as department,
    count(*) as employees,
    sum(current_versions.fte) as fte,
    count_if(current_versions.contract = 'temporary') as temporary,
    count(distinct departments.cost_centre) as cost_centres
from current_versions
left join departments on departments.code = current_versions.department
group by coalesce(departments.name, 'unknown')
