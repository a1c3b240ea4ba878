{# The rows of a temporal_view with store_late that came when their window was over: mz_run, mz_as_of, mz_from, mz_until,
   columns. #}
{% macro temporal_late(relation=none) %}
  {%- do temporal_needs_relation('temporal_late', relation) -%}
  {%- if not execute -%}{{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__late'})) }}{%- endif -%}
  {{ return(adapter.temporal_late(relation)) }}
{% endmacro %}
