-- windows of 30 minutes that begin every 10; each is shown for the 10 minutes after it has ended
select timestamp_millis(window_start) as window_start, count(*) as departures, round(avg(dep_delay), 1) as mean_delay
from (
  select
    dep_delay,
    explode(sequence(ms div 600000 * 600000 - 1200000, ms div 600000 * 600000, 600000)) as window_start
  from (select dep_delay, unix_millis(departed_at) as ms from {{ ref('flights') }} where departed_at is not null)
) hops
where mz_now() >= window_start + 1800000 and mz_now() < window_start + 2400000
group by window_start
