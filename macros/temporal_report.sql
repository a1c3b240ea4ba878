{# One line for the log, what people should know of how the model is read, the adapter response in run_results.json. #}
{% macro temporal_report(run) %}
  {%- for note in run.model.notes -%}
    {%- do log('temporal_view ' ~ this.identifier ~ ': ' ~ note, info=true) -%}
  {%- endfor -%}
  {%- do log(run.summary(), info=true) -%}
  {%- do store_result('main', response=adapter.temporal_response(run)) -%}
{% endmacro %}
