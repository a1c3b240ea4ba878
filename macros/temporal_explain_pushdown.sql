{# dbt run-operation temporal_explain_pushdown --args '{model: name}': the rows that a rebuild would ask Spark for, by
   each part of the window and for each input. Files are listed, and nothing is written. `format: json` prints JSON. #}
{% macro temporal_explain_pushdown(model=none, format='table') %}
  {%- if execute -%}
    {%- set given = {'model': model, 'format': format} -%}
    {%- set args = adapter.temporal_arguments('temporal_explain_pushdown', given, kwargs, graph) -%}
    {%- set shown = adapter.temporal_explain_pushdown(args.model, graph) -%}
    {{ return(temporal_shown('temporal_explain_pushdown', shown, args.format)) }}
  {%- endif -%}
{% endmacro %}
