{# A table or other relation under the model's name gives way to the view. #}
{% macro temporal_make_room(target) %}
  {%- set existing = load_cached_relation(this) -%}
  {%- if existing is not none and not existing.is_view -%}
    {{ log('temporal_view ' ~ this.identifier ~ ': the ' ~ existing.type ~ ' of that name is dropped', info=true) }}
    {%- do adapter.drop_relation(existing) -%}
  {%- endif -%}
{% endmacro %}
