{# dbt run-operation temporal_drop: drop the relations of temporal_views that no model names any more.
   dry_run: only list. schemas: more schemas to look in than those of this project's models.
   What another project made is listed and left alone. #}
{% macro temporal_drop(dry_run=false, schemas=none) %}
  {%- set args = adapter.temporal_arguments('temporal_drop', {'dry_run': dry_run, 'schemas': schemas}, kwargs, graph) -%}
  {%- set found = adapter.temporal_leftovers(graph, args.schemas) -%}
  {%- for left in found -%}
    {%- set name = left.target.schema ~ '.' ~ left.target.model -%}
    {%- if not left.mine -%}
      {%- do log('temporal_drop: ' ~ name ~ ' is of project ' ~ (left.project or 'unknown') ~ ', left alone', info=true) -%}
    {%- elif args.dry_run -%}
      {%- do log('temporal_drop: ' ~ name ~ ' would be dropped', info=true) -%}
    {%- else -%}
      {%- do adapter.temporal_drop(left.target) -%}
      {%- do log('temporal_drop: ' ~ name ~ ' dropped', info=true) -%}
    {%- endif -%}
  {%- else -%}
    {%- do log('temporal_drop: nothing is left behind', info=true) -%}
  {%- endfor -%}
{% endmacro %}
