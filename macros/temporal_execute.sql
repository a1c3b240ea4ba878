{# Run the statements of one phase; target/run shows all statements of the run so far. #}
{% macro temporal_execute(run, phase) %}
  {%- for step in adapter.temporal_steps(run, phase) -%}
    {%- do run.script.append('-- ' ~ step.purpose ~ '\n' ~ step.sql ~ ';') -%}
    {%- do write(run.script | join('\n\n') ~ '\n') -%}
    {%- call statement('temporal_' ~ phase) -%}
{{ step.sql }}
    {%- endcall -%}
  {%- endfor -%}
{% endmacro %}
