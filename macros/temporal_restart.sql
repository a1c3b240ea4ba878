{# dbt run-operation temporal_restart --args '{model: name}': the next run rebuilds it from its inputs, which renews its
   expiration. Until then it answers as before. #}
{% macro temporal_restart(model) %}
  {%- if execute -%}
    {%- do log('temporal_restart: ' ~ adapter.temporal_restart(model, graph), info=true) -%}
  {%- endif -%}
{% endmacro %}
