{# Fails on chains that are gone or not as committed, intervals that cannot be, and rows retracted too often. #}
{% test temporal_diffs_consistent(model) %}
  {%- if execute -%}
    {{ adapter.temporal_inconsistencies(model) }}
  {%- else -%}
    select 1 as mz_problem
  {%- endif -%}
{% endtest %}
