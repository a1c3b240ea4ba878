{{ config(materialized='view') }}

with active as (
    select * from {{ ref('active_employees') }}
)

select employee_no, hired_on, manager_no, lower(work_email) as work_email
from active
