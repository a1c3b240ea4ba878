{# A temporal_view as a query for an engine that reads the chains without Spark: `{{ temporal_sql(ref('m'), dialect='duckdb') }}`
   in an analysis, and `dbt compile`. dialect: 'duckdb', 'trino', or 'spark' for an engine that executes Spark's SQL. instant:
   as in temporal_as_of; none for the instant at which the engine executes it, or var temporal_now. chains: 'files' (their
   Parquet files, for DuckDB) or 'tables' (their names, for an engine that has the tables); none for files with DuckDB. #}
{% macro temporal_sql(relation=none, dialect='duckdb', instant=none, chains=none) %}
  {%- do temporal_needs_relation('temporal_sql', relation, ", dialect='duckdb'") -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {{ return(adapter.temporal_sql(relation, dialect, instant, chains)) }}
{% endmacro %}
