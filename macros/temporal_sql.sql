{# A temporal_view as a query for DuckDB, which reads the chains without Spark: `{{ temporal_sql(ref('m'), dialect='duckdb') }}`
   in an analysis, and `dbt compile`. instant: as in temporal_as_of; none for the instant at which DuckDB executes it, or var
   temporal_now. chains: 'files' (their Parquet files) or 'tables' (their names, for a DuckDB that has the tables). #}
{% macro temporal_sql(relation=none, dialect='duckdb', instant=none, chains='files') %}
  {%- do temporal_needs_relation('temporal_sql', relation, ", dialect='duckdb'") -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {{ return(adapter.temporal_sql(relation, dialect, instant, chains)) }}
{% endmacro %}
