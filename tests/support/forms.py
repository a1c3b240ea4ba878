"""Spark SQL as people write it: expressions over the table `forms`, and queries over it and the table `others`."""

from __future__ import annotations

TABLES = {
    "forms": "1 AS id, 'a' AS k, 2.5D AS d, CAST(1.25 AS DECIMAL(10, 2)) AS dec, timestamp'2024-03-01 12:00:00' AS ts, "
    "date'2024-03-01' AS dt, array(1, 2) AS xs, map('a', 1) AS m, named_struct('a', 1, 'b', 'x') AS st, true AS b, "
    """'{"a": 1}' AS js, X'1F' AS bin, timestamp_ntz'2024-03-01 12:00:00' AS ntz, '2024-01-01' AS txt""",
    "others": "1 AS id, 'a' AS k, 7 AS x",
}

#: a line each; `over w` is over a window of that name
EXPRESSIONS = r"""
ts + interval 1 day
ts - interval '1' month
ts + interval '1 02:00' day to minute
ts + interval '10:30' hour to minute
ts + interval '1-2' year to month
ts + make_interval(0,0,0,1,2,3,4.5)
ts + make_dt_interval(1,2)
ts + id * interval 1 day
interval 3 weeks + ts
-interval 1 hour + ts
ts - dt
dt + 1
dt - 1
dt + interval 1 day
dt - date'2024-01-01'
date_add(dt, 7)
dateadd(day, 7, ts)
date_diff(dt, date'2024-01-01')
datediff(day, ts, current_date)
timestampadd(hour, 1, ts)
timestampdiff(minute, ts, ts)
extract(year from ts)
extract(dow from dt)
date_part('hour', ts)
trunc(dt, 'MM')
date_trunc('week', ts)
cast(ts as date)
ts::date
id::string
try_cast(k as int)
k || 'x'
k like 'a%'
k not like 'a\\_%'
k ilike 'A%'
k like any ('a%','b%')
k like all ('a%')
k rlike '^a'
k regexp '^a'
id in (1,2,3)
id not in (1,2)
id between 1 and 3
id <=> 1
id is distinct from 1
id is not distinct from 1
k is null
b is true
b is not false
not b
!b
id = 1 and b or k = 'a'
id == 1
id != 1
id <> 1
id % 2
id div 2
id mod 2
mod(id,2)
id & 1
id | 1
id ^ 1
~id
id << 1
id >> 1
id >>> 1
-id
+id
1.5
1.5d
1.5f
1e3
1L
1S
1Y
1.5BD
.5
0x1F
X'1F'
'it''s'
'it\'s'
"text"
r'raw\n'
'a' 'b'
'a\tb'
true
null
"say ""hi"" now"
'a\'''b'
''''
'a' "b" r'\d'
r'\d' 'a'
r'it''s'
R"it's"
'\u0041\U0001F600\101'
'\%\_\q'
'é$日'
X "1f"
x r'1F'
1l
1bd
1.
1e-3
1.5e3D
1e3F
.5e3
1E-3BD
007
12345678901234567890
-9223372036854775808L
-128Y
date"2024-1-1"
date r'2024-01-01'
date'+12024-01-01'
timestamp'2024-01-01T00:00:00.123456+02:00'
timestamp'2024-01-01 Europe/Berlin'
timestamp_ntz'2024-01-01 12:00:00.5'
time'13:02:00.5' < time"14:00"
cast('13:02' as time) > time'13:00'
interval '1 day -2 hours 3.5 seconds'
interval "1 day"
interval 1 day -2 hours 3.5 seconds
interval -'1-2' year to month
interval '02:03:04.5' hour to second
interval '-1' month
interval 1.5 seconds
interval r'1' day
-interval 1 day
array(1,2)[1]
array(id, id + 1)[id] + 1
array(array(1,2),array(3))[0][1]
array()[0]
split(k,',')[0]
filter(xs, x -> x > 0)[0]
named_struct('a', xs)['a'][0]
k like 'O''%'
k rlike r'^\w+$'
k in ('a', 'it''s')
id as `a``b`
id as `é "x" 'y'`
date'2024-01-01'
timestamp'2024-01-01 00:00:00'
timestamp_ltz'2024-01-01'
timestamp_ntz'2024-01-01'
case when id=1 then 'a' else 'b' end
case id when 1 then 'a' end
if(b, 1, 2)
iff(b,1,2)
nvl(k,'x')
nvl2(k,1,2)
coalesce(k,'x')
nullif(k,'x')
ifnull(k,'x')
greatest(id,2)
xs[0]
m['a']
st.a
st.*
element_at(xs,1)
array(1,2)
map('a',1)
struct(id,k)
named_struct('a',id)
transform(xs, x -> x+1)
filter(xs, x -> x > 1)
aggregate(xs, 0, (a,x) -> a+x)
exists(xs, x -> x = 1)
array_contains(xs, 1)
size(xs)
js:a
get_json_object(js,'$.a')
from_json(js,'a int')
json_tuple(js,'a')
explode(xs)
posexplode(xs)
inline(array(struct(1,2)))
stack(2,1,2)
to_timestamp(txt)
to_timestamp(txt,'yyyy-MM-dd')
to_date(txt)
unix_timestamp(ts)
from_unixtime(0)
date_format(ts,'yyyy')
from_utc_timestamp(ts,'Asia/Tokyo')
convert_timezone('UTC','Asia/Tokyo',ntz)
ts at time zone 'UTC'
substring(k,1,2)
substring(k from 1 for 2)
substr(k,1)
left(k,1)
trim(k)
trim(both 'a' from k)
trim(leading from k)
ltrim(k)
btrim(k)
position('a' in k)
position('a',k)
locate('a',k)
instr(k,'a')
overlay(k placing 'x' from 1)
overlay(k,'x',1)
concat_ws(',',k,'b')
format_string('%d',id)
lpad(k,3,'0')
split(k,',')
regexp_replace(k,'a','b')
regexp_extract(k,'(a)',1)
replace(k,'a','b')
translate(k,'a','b')
initcap(k)
upper(k)
char_length(k)
md5(k)
sha2(k,256)
hash(k)
xxhash64(k)
crc32(k)
base64(bin)
hex(id)
bin(id)
conv('1',10,2)
round(d,1)
bround(d)
ceil(d)
ceil(d,1)
floor(d)
abs(id)
sign(d)
power(d,2)
d ** 2
sqrt(d)
ln(d)
log(d)
log(2,d)
log10(d)
exp(d)
pi()
e()
cast(dec as decimal(12,3))
cast(id as bigint)
int(k)
string(id)
bigint(id)
decimal(dec)
date(ts)
timestamp(txt)
boolean(id)
typeof(id)
version()
current_user()
current_database()
count(*)
count(distinct id)
count(distinct id, k)
count(id) filter (where b)
sum(id)
avg(d)
min(k)
max_by(k,id)
collect_list(id)
collect_set(k)
percentile(d,0.5)
percentile_approx(d,0.5)
percentile_cont(0.5) within group (order by d)
percentile_disc(0.5) within group (order by d desc)
mode(k)
mode() within group (order by k)
listagg(k, ',')
listagg(k, ',') within group (order by k)
string_agg(k, ',')
approx_count_distinct(k)
first(k)
first(k, true)
first(k) ignore nulls
any_value(k)
last_value(k) ignore nulls
bool_or(b)
every(b)
any(b)
some(b)
count_if(b)
stddev(d)
corr(d,d)
grouping(k)
array_agg(k)
histogram_numeric(d,3)
bit_and(id)
regr_slope(d,d)
median(d)
try_sum(id)
try_add(id,1)
try_divide(id,1)
row_number() over (partition by k order by id)
rank() over (order by id desc nulls last)
sum(id) over (partition by k order by id rows between unbounded preceding and current row)
sum(id) over (order by ts range between interval 1 day preceding and current row)
sum(id) over (order by ts range between interval 1 day 2 hours preceding and interval '1' hour following)
lag(id) over (order by id)
lag(id,1,0) ignore nulls over (order by id)
lead(k) respect nulls over (order by id)
nth_value(k,2) over (order by id)
ntile(2) over (order by id)
first_value(k) over w
(select max(x) from others)
exists (select 1 from others where others.id = forms.id)
id in (select id from others)
(id,k) in (select id,k from others)
id > all (select id from others)
id = any (select id from others)
array(select id from others)
uuid()
rand()
make_timestamp(2024,1,1,0,0,0)
make_date(2024,1,1)
timestamp_millis(0)
timestamp_seconds(0)
date_from_unix_date(1)
unix_date(dt)
add_months(dt,1)
months_between(dt,dt)
last_day(dt)
next_day(dt,'MON')
weekofyear(dt)
dayofweek(dt)
day(dt)
hour(ts)
window(ts,'1 hour')
session_window(ts,'1 hour')
interval '1' day
interval 1 day 2 hours
interval (1) day
interval id day
sequence(1,3)
sequence(dt, dt, interval 1 day)
array_sort(xs)
sort_array(xs,false)
array_sort(xs,(a,b)->a-b)
zip_with(xs,xs,(a,b)->a+b)
map_from_entries(array(struct('a',1)))
map_filter(m,(k,v)->v>0)
flatten(array(xs))
slice(xs,1,1)
array_join(transform(xs,x->string(x)),',')
xpath('<a/>','a')
schema_of_json('{"a":1}')
to_json(st)
to_csv(st)
parse_json(js)
variant_get(parse_json(js),'$.a','int')
collate(k,'UTF8_LCASE')
k collate UTF8_LCASE
startswith(k,'a')
contains(k,'a')
elt(1,'a','b')
space(1)
width_bucket(d,0,10,5)
bit_count(id)
cast('1 day' as interval)
cast(interval '1' day as string)
cast(st as struct<a:bigint,b:string>)
cast(xs as array<string>)
cast(null as map<string,int>)
raise_error('x')
assert_true(b)
input_file_name()
monotonically_increasing_id()
localtimestamp()
forms.id
`id`
id as `a b`
id a
sum(id) over w + 1
""".strip().splitlines()

QUERIES = r"""
select * from forms tablesample (10 percent)
select * from forms where id = 1 order by id limit 3
select * from forms order by id limit 3 offset 1
select k, count(*) from forms group by k having count(*) > 1
select k, count(*) from forms group by all
select k, count(*) from forms group by 1
select k, id, count(*) from forms group by cube(k,id)
select k, id, count(*) from forms group by rollup(k,id)
select k, id, count(*) from forms group by grouping sets ((k),(id),())
select k, id, count(*) from forms group by k, id with rollup
select k, grouping_id(k,id) from forms group by cube(k,id)
select distinct k from forms
select * except (id) from forms
select forms.*, others.x from forms join others using (id)
select * from forms natural join others
select * from forms left semi join others on forms.id = others.id
select * from forms left anti join others on forms.id = others.id
select * from forms anti join others on forms.id = others.id
select * from forms semi join others on forms.id = others.id
select * from forms cross join others
select * from forms full outer join others on forms.id = others.id
select * from forms right join others on forms.id = others.id
select * from forms, others where forms.id = others.id
select * from forms lateral view explode(xs) e as x
select * from forms lateral view outer posexplode(xs) e as p, x
select * from forms, lateral explode(xs) as e(x)
select * from forms, lateral (select x from others where others.id = forms.id)
select * from forms join lateral (select x from others where others.id = forms.id) on true
select * from forms left join lateral (select x from others where others.id = forms.id) on true
select id from forms union all select id from others
select id from forms union select id from others
select id from forms except select id from others
select id from forms except all select id from others
select id from forms minus select id from others
select id from forms intersect select id from others
(select id from forms) union all (select id from others limit 1)
select id from forms union all by name select id from others
with a as (select * from forms), b(n) as (select id from a) select n from b
table forms
table forms order by id limit 2
select f.id, x from (table forms) f join (table others) using (id)
select id from forms where id in (select id from (table others)) union all (select id from (table others))
with a as (with a as (select * from forms) select a.id from a) select * from a, (with a as (table others) table a)
select * from forms where id in (with a as (select id from others) select id from a)
select distinct * except (m) from forms
with recursive r(n) as (select 1 union all select n+1 from r where n < 3) select * from r
select * from (values (1,'a'),(2,'b')) as v(id,k)
select * from values (1),(2) as v(id)
select * from range(10)
select * from forms pivot (sum(id) for k in ('a','b'))
select * from forms pivot (sum(id) as s, count(*) as c for k in ('a' as aa))
select * from others unpivot (v for n in (id, x))
select /*+ broadcast(others) */ * from forms join others on forms.id = others.id
select /*+ repartition(3) */ id from forms
select id, sum(id) over w from forms window w as (partition by k)
select id from forms qualify row_number() over (order by id) = 1
select id as a, a + 1 as b from forms
select * from forms where exists (select 1 from others where others.id = forms.id)
select * from forms where not exists (select 1 from others where others.k = forms.k) or b
select * from forms where id not in (select id from others)
select * from forms as x(a,b2,c,d2,e,f,g,h,i,j,l,m2,n,o)
select * from forms sort by id
select * from forms distribute by k sort by id
select * from forms cluster by k
from forms select id where id = 1
from forms |> where id = 1 |> select id
select transform(id) using 'cat' as (x) from forms
select k, collect_list(struct(id, d)) as l from forms group by k
select count(*) filter (where id > 1) as n, sum(case when b then 1 else 0 end) from forms
select first(id) from forms group by k
select id from default.forms
select spark_catalog.default.forms.id from spark_catalog.default.forms
select t1.id from forms t1 inner join (select id from others) u1 on u1.id = t1.id and u1.id > 1
select id from forms where ts > '2024-01-01'
select id from forms where dt = '2024-01-01' and ts < current_timestamp
select * from forms where (id, k) in ((1,'a'),(2,'b'))
select nullif(id, 0) / nullif(d, 0) from forms
select id from forms limit all
select ifnull(st.b, 'x'), m.a, st.a + 1 from forms
select count(1), count(*), sum(1) from forms
select any_value(k), max(struct(ts, id)).id from forms
select explode(map(1,2)) as (a, b) from forms
select id from forms where k = 'a' collate utf8_binary
select * from identifier('forms')
select try_to_timestamp(txt), to_number('1','9'), to_char(dec,'99.9') from forms
""".strip().splitlines()
