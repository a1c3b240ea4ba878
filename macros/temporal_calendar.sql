{# The next n instants at which a temporal_view changes if no input changes: mz_timestamp (ms), changes_at, rows_in, rows_out. #}
{% macro temporal_calendar(relation=none, n=10, max_changes=1000) %}
  {%- do temporal_needs_relation('temporal_calendar', relation) -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- do temporal_needs_no_view('temporal_calendar', relation) -%}
  {{ return(adapter.temporal_calendar(relation, n, max_changes, temporal_clock())) }}
{% endmacro %}
