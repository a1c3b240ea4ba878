{# What every operation shows: a table in the log, or JSON alone on standard output (with dbt --quiet nothing else).
   Returns the agate table. #}
{% macro temporal_shown(operation, shown, format) %}
  {%- if format == 'json' -%}
    {%- do print(adapter.temporal_printed(shown, 'json')) -%}
  {%- else -%}
    {%- do log(operation ~ ':\n' ~ adapter.temporal_printed(shown, 'table'), info=true) -%}
  {%- endif -%}
  {{ return(shown) }}
{% endmacro %}
