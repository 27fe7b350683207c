{% macro cents(column) %}{{ cents(column) }}{% endmacro %}
