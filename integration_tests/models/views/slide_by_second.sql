-- the last hour, moving on full seconds; milliseconds as BIGINT
select origin, count(*) as departures
from (select origin, unix_millis(departed_at) as ms from {{ ref('flights') }}) d
where mz_now() >= 1000 * (ms div 1000)
  and mz_now() < 1000 * (ms div 1000) + 3600000
group by origin
