{# Fails on chains that are gone or incomplete, on impossible intervals, and on rows retracted more often than added. #}
{% test temporal_diffs_consistent(model) %}
  {%- if execute -%}
    {{ adapter.temporal_inconsistencies(model) }}
  {%- else -%}
    select 1 as mz_problem
  {%- endif -%}
{% endtest %}
