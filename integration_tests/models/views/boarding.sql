-- a validity interval: from 40 minutes before the schedule until the flight has left
select flight_id, tailnum, origin, dest, scheduled_at
from {{ ref('flights') }}
where mz_now() >= scheduled_at - interval 40 minutes and mz_now() < departed_at
