{# For people: how the model is read, and what the run did. For run_results.json: its adapter response. #}
{% macro temporal_summarize(run) %}
  {%- for line in adapter.temporal_summary(run) -%}
    {%- do log(line, info=true) -%}
  {%- endfor -%}
  {%- if not run.script -%}
    {%- do write('-- nothing new: no statement of this run changed anything\n') -%}
  {%- endif -%}
  {%- for warning in adapter.temporal_warnings(run) -%}
    {%- do exceptions.warn(warning) -%}
  {%- endfor -%}
  {%- do store_result('main', response=adapter.temporal_response(run)) -%}
{% endmacro %}
