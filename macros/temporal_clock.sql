{# The as-of of this dbt invocation (ms): var temporal_now, else the engine's clock, read once for all models. #}
{% macro temporal_clock() %}
  {{ return(adapter.temporal_clock(var('temporal_now', none))) }}
{% endmacro %}
