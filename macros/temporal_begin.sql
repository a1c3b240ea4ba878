{# What this run is to do. Everything that can be refused is refused here, before anything is written. #}
{% macro temporal_begin(target) %}
  {%- set sampled = (flags.EMPTY | default(false)) or (flags.SAMPLE | default(none)) is not none -%}
  {{ return(adapter.temporal_begin(target, sql, model, graph, temporal_clock(), should_full_refresh(), sampled)) }}
{% endmacro %}
