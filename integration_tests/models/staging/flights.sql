-- Flights as if the data's busy Friday afternoon were the moment it was loaded: at night nothing flies, and nobody would
-- see a view change. In its next three minutes a flight leaves or lands at least every 19 seconds. Five weeks back and two
-- days ahead are kept, which is all that the views look at.
-- The data tells minutes; the seconds are the flight number's, so that not everybody leaves on the full minute.
with clock as (
  select loaded_at, loaded_at - to_utc_timestamp(timestamp'2013-05-31 15:53:30', 'America/New_York') as shift
  from {{ source('nycflights13', 'data_clock') }}
),

timed as (
  select
    *,
    to_utc_timestamp(
      make_timestamp(year, month, day, sched_dep_time div 100, sched_dep_time % 100, 0), 'America/New_York'
    ) as scheduled,
    make_dt_interval(0, 0, dep_delay, flight % 60) as late,
    make_dt_interval(0, 0, air_time, 0) as airborne
  from {{ source('nycflights13', 'raw_flights') }}
)

select
  concat_ws('-', carrier, flight, origin, year, month, day, sched_dep_time) as flight_id,
  carrier,
  flight,
  tailnum,
  origin,
  dest,
  distance,
  dep_delay,
  scheduled + shift as scheduled_at,
  scheduled + shift + late as departed_at,
  scheduled + shift + late + airborne as arrives_at
from timed cross join clock
where scheduled + shift between loaded_at - interval 35 days and loaded_at + interval 2 days
