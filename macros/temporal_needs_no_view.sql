{# Refuse a macro whose query is of the stored rows of now, in a model that keeps the query itself. #}
{% macro temporal_needs_no_view(macro, relation) %}
  {%- set materialized = model.get('config', {}).get('materialized') if model is defined and model is mapping else none -%}
  {%- if model is defined and model.get('resource_type') == 'model' and materialized in ('view', 'temporal_view') -%}
    {%- do exceptions.raise_compiler_error('ST646 found: ' ~ macro ~ ' of ' ~ relation.identifier ~ ' in ' ~ model.get('name')
       ~ ', a ' ~ materialized ~ '\nwhy: its query is of the rows that are stored now, and a view would go on to show these\ninstead: '
       ~ "materialized='table' or 'incremental'; ephemeral; or " ~ macro ~ ' where it is read') -%}
  {%- endif -%}
{% endmacro %}
