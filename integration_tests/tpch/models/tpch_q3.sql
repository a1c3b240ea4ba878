-- Query 3 of TPC-H watched over time: its date is the clock. It asks for orders of which something has not shipped yet,
-- which can be 121 days after they were placed. Here an order drops out after 90: that leaves out an eighth of the
-- orders, and on most days none of the ten.
select
  l_orderkey,
  sum(l_extendedprice * (1 - l_discount)) as revenue,
  o_orderdate,
  o_shippriority
from {{ source('tpch', 'customer') }}, {{ source('tpch', 'orders') }}, {{ source('tpch', 'lineitem') }}
where
  c_mktsegment = 'BUILDING'
  and c_custkey = o_custkey
  and l_orderkey = o_orderkey
  and o_orderdate < mz_now()
  and l_shipdate > mz_now()
  and mz_now() <= o_orderdate + interval 90 days
group by
  l_orderkey,
  o_orderdate,
  o_shippriority
order by
  revenue desc,
  o_orderdate
limit 10
