{% macro dollars(column) %}cast({{ column }} / 100 as decimal(12, 2)){% endmacro %}
