{# dbt run-operation temporal_consolidate --args '{model: name}': the chains of each core of a temporal_view
   become one, as of the frontier. Reads then scan one chain. No input is read. Instants before the frontier can no longer
   be read afterwards, except within `retain_history`; the answer has the first instant before and after. `format: json`
   prints JSON. #}
{% macro temporal_consolidate(model=none, format='table') %}
  {%- if execute -%}
    {%- set given = {'model': model, 'format': format} -%}
    {%- set args = adapter.temporal_arguments('temporal_consolidate', given, kwargs, graph) -%}
    {{ return(temporal_shown('temporal_consolidate', adapter.temporal_consolidate(args.model, graph), args.format)) }}
  {%- endif -%}
{% endmacro %}
