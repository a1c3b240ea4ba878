{# A temporal_view at an instant: `select * from {{ temporal_as_of(ref('m'), '2024-03-01 12:00:30') }}`.
   instant: text (UTC unless it has an offset), or ms since the epoch; from since to the expiration. #}
{% macro temporal_as_of(relation=none, instant=none) %}
  {%- do temporal_needs_relation('temporal_as_of', relation, ", '2024-03-01 12:00:30'") -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {{ return(adapter.temporal_read(relation, instant)) }}
{% endmacro %}
