{# A unit test's own `overrides: vars: temporal_now` is seen by macros only, so the clock is put in here. #}
{% macro sparktemporal__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) %}
  {%- set pinned = adapter.temporal_with_clock(main_sql, temporal_clock()) -%}
  {{ default__get_unit_test_sql(pinned, expected_fixture_sql, expected_column_names) }}
{% endmacro %}
