{# dbt run-operation temporal_restart --args '{model: name}': the next run rebuilds the model from its inputs, which renews
   its expiration. Until then the model answers as before. #}
{% macro temporal_restart(model=none) %}
  {%- if execute -%}
    {%- set args = adapter.temporal_arguments('temporal_restart', {'model': model}, kwargs, graph) -%}
    {%- do log('temporal_restart: ' ~ adapter.temporal_restart(args.model, graph), info=true) -%}
  {%- endif -%}
{% endmacro %}
