{# dbt run-operation temporal_status [--args '{model: name}']: of each temporal_view when it began, up to when it answers,
   when it is restarted, and what it stores. Nothing is changed. #}
{% macro temporal_status(model=none) %}
  {%- if execute -%}
    {%- set args = adapter.temporal_arguments('temporal_status', {'model': model}, kwargs, graph) -%}
    {%- for line in adapter.temporal_status(graph, args.model) -%}
      {%- do log(line, info=true) -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
