{# dbt clone: a temporal_view becomes a view over the other one, which stays right by itself; the rest as for Spark. #}
{% materialization clone, adapter='sparktemporal' %}
  {%- if config.get('materialized') != 'temporal_view' -%}
    {{ return(materialization_clone_spark()) }}
  {%- endif -%}
  {%- if not defer_relation -%}
    {%- do log('No relation found in state manifest for ' ~ model.unique_id, info=true) -%}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- if existing and not flags.FULL_REFRESH -%}
    {%- do log('Relation ' ~ existing ~ ' already exists', info=true) -%}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- if not adapter.get_columns_in_relation(defer_relation) -%}
    {%- do exceptions.raise_compiler_error('ST525 found: no ' ~ defer_relation ~ '\nwhy: a clone of a temporal_view is a view over '
       ~ 'it, and what stands in its place would be dropped for nothing\ninstead: dbt run -s ' ~ model.name ~ ' there') -%}
  {%- endif -%}
  {{ return(materialization_view_spark()) }}
{% endmaterialization %}
