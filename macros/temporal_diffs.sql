{# The committed updates of a temporal_view: mz_timestamp, mz_diff, columns. #}
{% macro temporal_diffs(relation=none) %}
  {%- do temporal_needs_relation('temporal_diffs', relation) -%}
  {%- if not execute -%}{{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__diffs'})) }}{%- endif -%}
  {{ return(adapter.temporal_updates(relation)) }}
{% endmacro %}
