{# A temporal_view now, in any catalog: `select * from {{ temporal_read(ref('m')) }}`. Its view; where the catalog has no
   views, the query of it, which answers at the instant at which it is executed, or at var temporal_now. #}
{% macro temporal_read(relation=none) %}
  {%- do temporal_needs_relation('temporal_read', relation) -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- if model is defined and model.config.materialized == 'temporal_view' -%}
    {%- do exceptions.raise_compiler_error('ST648 found: temporal_read in the temporal_view ' ~ model.name ~ '\nwhy: a temporal_view '
       ~ "reads what another one stores, not what the other one answers at a moment\ninstead: {{ ref('" ~ relation.identifier
       ~ "') }}") -%}
  {%- endif -%}
  {{ return(adapter.temporal_now(relation)) }}
{% endmacro %}
