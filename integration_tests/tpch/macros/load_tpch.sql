{# The parquet files as tables, columns and types as they are: once, or again with --full-refresh. #}
{% macro load_tpch() %}
  {%- if execute and flags.WHICH in ('run', 'build') -%}
    {%- for name in ('customer', 'orders', 'lineitem') -%}
      {%- set table = target.schema ~ '.' ~ name -%}
      {%- if flags.FULL_REFRESH -%}
        {%- do run_query('drop table if exists ' ~ table) -%}
      {%- endif -%}
      {%- do run_query(
        'create table if not exists ' ~ table ~ ' using parquet as select * from parquet.`'
        ~ var('data_path') ~ '/' ~ name ~ '.parquet`'
      ) -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
