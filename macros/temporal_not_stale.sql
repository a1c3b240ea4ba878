{# Fails when no run is known `within` a time: no commit, and no run with nothing new by the log of this target folder. #}
{% test temporal_not_stale(model, within='1 day') %}
  {%- if execute -%}
    {{ adapter.temporal_staleness(model, within, temporal_clock()) }}
  {%- else -%}
    select 1 as model
  {%- endif -%}
{% endtest %}
