{# The csv files as tables, and the instant at which the data was loaded, once. #}
{% macro load_raw() %}
  {%- if execute and flags.WHICH in ('run', 'build') -%}
    {%- set columns = {
      'flights': 'year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, '
        ~ 'sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, origin string, dest string, '
        ~ 'air_time int, distance int, hour int, minute int, time_hour string',
      'airlines': 'carrier string, name string',
      'airports': 'faa string, name string, lat double, lon double, alt int, tz int, dst string, tzone string',
    } -%}
    {%- for name, fields in columns.items() -%}
      {%- do run_query(
        'create table if not exists ' ~ target.schema ~ '.raw_' ~ name ~ ' (' ~ fields ~ ') using csv options (path \''
        ~ var('data_path') ~ '/' ~ name ~ '.csv\', header \'true\', nullValue \'NA\')'
      ) -%}
    {%- endfor -%}
    {%- set now = "timestamp'" ~ var('data_now') ~ "'" if var('data_now') else 'current_timestamp()' -%}
    {%- do run_query(
      'create table if not exists ' ~ target.schema ~ '.data_clock using parquet as select ' ~ now ~ ' as loaded_at'
    ) -%}
  {%- endif -%}
{% endmacro %}
