select flight_id, carrier, flight, origin, dest, departed_at, arrives_at
from {{ ref('flights') }}
where mz_now() >= departed_at and mz_now() < arrives_at
