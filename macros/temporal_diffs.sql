{# The committed updates of a temporal_view: mz_timestamp, mz_diff, columns. #}
{% macro temporal_diffs(relation=none) %}
  {%- do temporal_needs_relation('temporal_diffs', relation) -%}
  {{ return(relation.incorporate(path={'identifier': relation.identifier ~ '__diffs'})) }}
{% endmacro %}
