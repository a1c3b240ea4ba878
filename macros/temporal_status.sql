{# dbt run-operation temporal_status [--args '{model: name, format: json}']: for each temporal_view its last run, its
   start, its expiration, its next restart and its stored rows, as a table or as JSON. Nothing is changed. A macro that
   calls it gets the agate table. #}
{% macro temporal_status(model=none, format='table') %}
  {%- if execute -%}
    {%- set given = {'model': model, 'format': format} -%}
    {%- set args = adapter.temporal_arguments('temporal_status', given, kwargs, graph) -%}
    {{ return(temporal_shown('temporal_status', adapter.temporal_status(graph, args.model), args.format)) }}
  {%- endif -%}
{% endmacro %}
