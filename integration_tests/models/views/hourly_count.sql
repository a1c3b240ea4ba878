-- a tumbling window: the departures of the clock's hour so far
select date_trunc('HOUR', departed_at) as hour_start, origin, count(*) as departures
from {{ ref('flights') }}
where mz_now() >= departed_at
  and mz_now() < date_trunc('HOUR', departed_at) + interval 1 hour
group by 1, 2
