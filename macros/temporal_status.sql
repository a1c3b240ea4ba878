{# dbt run-operation temporal_status [--args '{model: name}']: for each temporal_view its start, its expiration, its next
   restart and its stored rows. Nothing is changed. #}
{% macro temporal_status(model=none) %}
  {%- if execute -%}
    {%- set args = adapter.temporal_arguments('temporal_status', {'model': model}, kwargs, graph) -%}
    {%- for line in adapter.temporal_status(graph, args.model) -%}
      {%- do log(line, info=true) -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
