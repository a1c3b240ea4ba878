{# One line for the log, and the adapter response in run_results.json. #}
{% macro temporal_report(run) %}
  {%- do log(run.summary(), info=true) -%}
  {%- do store_raw_result(name='main', message='OK ' ~ run.outcome(), code='OK', rows_affected=run.rows_written) -%}
{% endmacro %}
