-- a time to live per row: the later a flight left, the longer its notice stays up
select flight_id, dest, dep_delay, departed_at
from (select *, make_dt_interval(0, 0, greatest(dep_delay, 5), 0) as ttl from {{ ref('flights') }})
where mz_now() >= departed_at and mz_now() < departed_at + ttl
