{# A temporal_view at each instant of a relation, in one pass: `select * from
   {{ temporal_at(ref('m'), ref('hours'), 'hour') }}`. Columns: the instant, and those of the model.
   aggregates: {'n': 'count(*)', 'total': 'sum(amount)'}, in place of the rows; group_by: ['country'], columns of the model. #}
{% macro temporal_at(relation=none, instants=none, column=none, aggregates=none, group_by=none) %}
  {%- do temporal_needs_relation('temporal_at', relation, ", ref('hours'), 'hour'") -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- do temporal_needs_no_view('temporal_at', relation) -%}
  {%- if not instants -%}
    {%- do exceptions.raise_compiler_error('ST643 found: temporal_at of ' ~ relation.identifier ~ ' without instants\nwhy: it reads the '
       ~ "model at each instant of a relation\ninstead: temporal_at(ref('" ~ relation.identifier ~ "'), ref('hours'), 'hour')") -%}
  {%- endif -%}
  {{ return(adapter.temporal_at(relation, instants, column, aggregates, group_by)) }}
{% endmacro %}
