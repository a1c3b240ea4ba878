{# One row with the next instant at which a temporal_view changes if no input changes: mz_timestamp (ms), changes_at; NULL for none. #}
{% macro temporal_next_change(relation=none, max_changes=1000) %}
  {%- do temporal_needs_relation('temporal_next_change', relation) -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- do temporal_needs_no_view('temporal_next_change', relation) -%}
  {{ return('(SELECT min(mz_timestamp) AS mz_timestamp, min(changes_at) AS changes_at FROM '
       ~ adapter.temporal_calendar(relation, 1, max_changes, temporal_clock()) ~ ' AS mz_calendar)') }}
{% endmacro %}
