{# Fails when the view has expired, or expires within `at_least`. #}
{% test temporal_not_expired(model, at_least='0') %}
  {%- if execute -%}
    {{ adapter.temporal_expiry(model, at_least, temporal_clock()) }}
  {%- else -%}
    select 1 as model
  {%- endif -%}
{% endtest %}
