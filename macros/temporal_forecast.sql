{# An aggregate over a temporal_view now and at each step until an instant (the expiration), if no input changes:
   mz_timestamp (ms), forecast_at, value. #}
{% macro temporal_forecast(relation=none, every=none, until=none, aggregate='count(*)') %}
  {%- do temporal_needs_relation('temporal_forecast', relation, ", every='1 hour'") -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- do temporal_needs_no_view('temporal_forecast', relation) -%}
  {{ return(adapter.temporal_forecast(relation, every, until, aggregate, temporal_clock())) }}
{% endmacro %}
