{# What this run is to do. Everything that can be refused is refused here, before anything is written. #}
{% macro temporal_begin(target) %}
  {{ return(adapter.temporal_begin(target, sql, model, graph, temporal_clock(), should_full_refresh())) }}
{% endmacro %}
