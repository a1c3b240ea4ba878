{# The csv files as tables, and the instant at which the data was loaded: once, or again with --full-refresh. #}
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
      {# not a table over the file: that would look for a relative path in the warehouse, and be empty without a file #}
      {%- do run_query(
        'create or replace temporary view csv_' ~ name ~ ' (' ~ fields ~ ') using csv options (path "'
        ~ var('data_path') ~ '/' ~ name ~ '.csv", header "true", nullValue "NA")'
      ) -%}
      {%- do _load_once('raw_' ~ name, 'select * from csv_' ~ name) -%}
    {%- endfor -%}
    {%- set now = "timestamp'" ~ var('data_now') ~ "'" if var('data_now')
      else 'timestamp_millis(unix_millis(current_timestamp()))' -%}
    {%- do _load_once('data_clock', 'select ' ~ now ~ ' as loaded_at') -%}
  {%- endif -%}
{% endmacro %}

{% macro _load_once(name, query) %}
  {%- set table = target.schema ~ '.' ~ name -%}
  {%- if flags.FULL_REFRESH -%}
    {%- do run_query('drop table if exists ' ~ table) -%}
  {%- endif -%}
  {%- do run_query('create table if not exists ' ~ table ~ ' using parquet as ' ~ query) -%}
{% endmacro %}
