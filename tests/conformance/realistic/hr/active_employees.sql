{{ config(materialized='temporal_view') }}

select distinct employee_no, hired_on, manager_no, work_email
from {{ source('raw', 'raw_employee_history') }}
where mz_now() >= hired_on
  and (left_on is null or mz_now() < left_on + interval 1 day)
