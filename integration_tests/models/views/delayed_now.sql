-- late by a quarter of an hour by now, and still at the gate
select f.flight_id, a.name as airline, o.name as from_airport, f.dest, f.scheduled_at
from {{ ref('flights') }} f
join {{ ref('airlines') }} a on a.carrier = f.carrier
join {{ ref('airports') }} o on o.faa = f.origin
where mz_now() >= f.scheduled_at + interval 15 minutes and mz_now() < f.departed_at
