select carrier, count(*) as departures, sum(case when dep_delay > 15 then 1 else 0 end) as late, max(dep_delay) as worst
from {{ ref('flights') }}
where mz_now() >= departed_at and mz_now() < departed_at + interval 24 hours
group by carrier
