{# The clock of a unit test: its own `overrides: vars: temporal_now`, which reaches no statement by itself. #}
{% macro sparktemporal__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) %}
  {%- set own = ((model.overrides or {}).vars or {}).get('temporal_now', var('temporal_now', none)) -%}
  {%- set sql = default__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) -%}
  {{ adapter.temporal_with_clock(sql, adapter.temporal_clock(own), own is not none, model.tested_node_unique_id) }}
{% endmacro %}
