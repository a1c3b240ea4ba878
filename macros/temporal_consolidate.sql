{# dbt run-operation temporal_consolidate --args '{model: name}': all chains of a temporal_view become one.
   Reads then scan one chain. No input is read. #}
{% macro temporal_consolidate(model=none) %}
  {%- if execute -%}
    {%- set args = adapter.temporal_arguments('temporal_consolidate', {'model': model}, kwargs, graph) -%}
    {%- do log('temporal_consolidate: ' ~ adapter.temporal_consolidate(args.model, graph), info=true) -%}
  {%- endif -%}
{% endmacro %}
