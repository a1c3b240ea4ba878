{# Refuse a call of a macro without a relation, such as with a name in quotes. #}
{% macro temporal_needs_relation(macro, relation, rest='') %}
  {%- if relation is none or relation is undefined or relation is string -%}
    {%- do exceptions.raise_compiler_error('ST647 found: ' ~ macro ~ (' without a model' if not relation else " of the text '" ~ relation
       ~ "'") ~ '\nwhy: it takes the relation of a temporal_view\ninstead: ' ~ macro ~ "(ref('" ~ (relation or 'recent_events')
       ~ "')" ~ rest ~ ')') -%}
  {%- endif -%}
{% endmacro %}
