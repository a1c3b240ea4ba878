{# dbt run-operation temporal_explain --args '{model: name}': what the next run of a temporal_view would do, and why, of a
   model that ran or never ran: cores, what is kept, how each input is read, what pushdown leaves out, the statements, the
   expiration. Nothing is written, but a view may be made and dropped, to try the catalog. `full_refresh: true` explains
   such a run. `format: json` prints JSON, with numbers beside the words: `instant` (ms) of clocks, `rows` of a core's
   chains, `files`, `files_read`, `bytes` and `bytes_read` of inputs. #}
{% macro temporal_explain(model=none, full_refresh=false, format='table') %}
  {%- if execute -%}
    {%- set given = {'model': model, 'full_refresh': full_refresh, 'format': format} -%}
    {%- set args = adapter.temporal_arguments('temporal_explain', given, kwargs, graph) -%}
    {%- set shown = adapter.temporal_explain(args.model, graph, args.full_refresh) -%}
    {{ return(temporal_shown('temporal_explain', shown, args.format)) }}
  {%- endif -%}
{% endmacro %}
