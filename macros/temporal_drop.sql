{# dbt run-operation temporal_drop: drop the relations of temporal_views that no model names any more.
   dry_run: only list. schemas: more schemas to look in than those of this project's models. format: json prints JSON.
   What another project made is listed and left alone. #}
{% macro temporal_drop(dry_run=false, schemas=none, format='table') %}
  {%- set given = {'dry_run': dry_run, 'schemas': schemas, 'format': format} -%}
  {%- set args = adapter.temporal_arguments('temporal_drop', given, kwargs, graph) -%}
  {%- set found = [] -%}
  {%- for left in adapter.temporal_leftovers(graph, args.schemas) -%}
    {%- set outcome = 'would be dropped' if args.dry_run else 'dropped' -%}
    {%- if not left.mine -%}
      {%- set outcome = 'left alone, as another project made it' -%}
    {%- elif not args.dry_run -%}
      {%- do adapter.temporal_drop(left.target) -%}
    {%- endif -%}
    {%- do log('temporal_drop: ' ~ left.target.model ~ ' ' ~ outcome) -%}
    {%- do found.append({'left': left, 'outcome': outcome}) -%}
  {%- endfor -%}
  {%- if not found and args.format != 'json' -%}
    {%- do log('temporal_drop: nothing is left behind', info=true) -%}
    {{ return(adapter.temporal_dropped(found)) }}
  {%- endif -%}
  {{ return(temporal_shown('temporal_drop', adapter.temporal_dropped(found), args.format)) }}
{% endmacro %}
