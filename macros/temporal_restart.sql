{# dbt run-operation temporal_restart --args '{model: name}': the next run rebuilds the model from its inputs, which renews
   its expiration. Until then the model answers as before. `format: json` prints JSON. #}
{% macro temporal_restart(model=none, format='table') %}
  {%- if execute -%}
    {%- set given = {'model': model, 'format': format} -%}
    {%- set args = adapter.temporal_arguments('temporal_restart', given, kwargs, graph) -%}
    {{ return(temporal_shown('temporal_restart', adapter.temporal_restart(args.model, graph), args.format)) }}
  {%- endif -%}
{% endmacro %}
