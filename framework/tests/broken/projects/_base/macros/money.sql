{% macro cents(column) %}cast({{ column }} * 100 as bigint){% endmacro %}
