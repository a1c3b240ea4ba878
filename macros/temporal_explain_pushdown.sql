{# dbt run-operation temporal_explain_pushdown --args '{model: name}': the rows that a rebuild would ask Spark for, by
   each part of the window and for each input. No data is read. #}
{% macro temporal_explain_pushdown(model=none) %}
  {%- if execute -%}
    {%- set args = adapter.temporal_arguments('temporal_explain_pushdown', {'model': model}, kwargs, graph) -%}
    {%- for line in adapter.temporal_explain_pushdown(args.model, graph) -%}
      {%- do log(line, info=true) -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
