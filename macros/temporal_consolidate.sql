{# dbt run-operation temporal_consolidate --args '{model: name}': all chains of a temporal_view become one.
   Reads then scan one chain. No input is read. `format: json` prints JSON. #}
{% macro temporal_consolidate(model=none, format='table') %}
  {%- if execute -%}
    {%- set given = {'model': model, 'format': format} -%}
    {%- set args = adapter.temporal_arguments('temporal_consolidate', given, kwargs, graph) -%}
    {{ return(temporal_shown('temporal_consolidate', adapter.temporal_consolidate(args.model, graph), args.format)) }}
  {%- endif -%}
{% endmacro %}
