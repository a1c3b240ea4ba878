{# dbt run-operation temporal_report [--args '{model: name, path: report.html, hours: 24}']: one HTML page about every
   temporal_view, or one: whether all is fine and what to do; then of each model the instants, what is due in the next
   hours, the forecast, the last runs, the inputs, the chains. The page needs no other file. path: where it is written,
   from the folder in which dbt runs; folders are made. Without it the page is target/temporal_report.html. hours: 1 to
   240. Nothing else is changed. #}
{% macro temporal_report(model=none, path=none, hours=24) %}
  {%- if execute -%}
    {%- set given = {'model': model, 'path': path, 'hours': hours} -%}
    {%- set args = adapter.temporal_arguments('temporal_report', given, kwargs, graph) -%}
    {%- set written = adapter.temporal_report(graph, args.model, args.path, args.hours) -%}
    {%- do log('temporal_report: ' ~ written, info=true) -%}
    {{ return(written) }}
  {%- endif -%}
{% endmacro %}
