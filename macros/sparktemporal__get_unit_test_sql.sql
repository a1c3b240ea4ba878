{# The clock of a unit test: its own `overrides: vars: temporal_now`, which reaches no statement by itself. #}
{% macro sparktemporal__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) %}
  {%- set own = ((model.overrides or {}).vars or {}).get('temporal_now', var('temporal_now', none)) -%}
  {%- set pinned = adapter.temporal_with_clock(main_sql, adapter.temporal_clock(own)) -%}
  {{ default__get_unit_test_sql(pinned, expected_fixture_sql, expected_column_names) }}
{% endmacro %}
