-- scheduled to have left, and still at the gate
select f.flight_id, a.name as airline, o.name as from_airport, f.dest, f.scheduled_at, f.dep_delay
from {{ ref('flights') }} f
join {{ ref('airlines') }} a on a.carrier = f.carrier
join {{ ref('airports') }} o on o.faa = f.origin
where mz_now() between f.scheduled_at and f.departed_at
  and f.dep_delay > 15
