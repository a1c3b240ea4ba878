{# What this run is to do. Everything that can be refused is refused here, before anything is written. #}
{% macro temporal_begin(target, existing) %}
  {%- if config.get('contract').enforced -%}
    {%- do get_assert_columns_equivalent(sql) -%}
  {%- endif -%}
  {{ return(adapter.temporal_begin(target, sql, model, graph, temporal_clock(), should_full_refresh(), existing)) }}
{% endmacro %}
