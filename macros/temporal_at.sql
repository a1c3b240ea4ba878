{# A temporal_view at each instant of a relation, in one pass: `select hour, count(*) from
   {{ temporal_at(ref('m'), ref('hours'), 'hour') }} group by hour`. Columns: the instant, and those of the model. #}
{% macro temporal_at(relation=none, instants=none, column=none) %}
  {%- do temporal_needs_relation('temporal_at', relation, ", ref('hours'), 'hour'") -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- do temporal_needs_no_view('temporal_at', relation) -%}
  {%- if not instants -%}
    {%- do exceptions.raise_compiler_error('found: temporal_at of ' ~ relation.identifier ~ ' without instants\nwhy: it reads the '
       ~ "model at each instant of a relation\ninstead: temporal_at(ref('" ~ relation.identifier ~ "'), ref('hours'), 'hour')") -%}
  {%- endif -%}
  {{ return(adapter.temporal_at(relation, instants, column)) }}
{% endmacro %}
