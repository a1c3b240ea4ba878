{# One line for the log, and the adapter response in run_results.json. #}
{% macro temporal_report(run) %}
  {%- do log(run.summary(), info=true) -%}
  {%- do store_result('main', response=adapter.temporal_response(run)) -%}
{% endmacro %}
