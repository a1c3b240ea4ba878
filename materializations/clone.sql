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
  {{ return(materialization_view_spark()) }}
{% endmaterialization %}
