-- nearly all retractions lie beyond the expiration, so they are not stored
select flight_id, carrier, origin, dest, distance, departed_at
from {{ ref('flights') }}
where departed_at <= mz_now() and mz_now() <= departed_at + interval 30 days
