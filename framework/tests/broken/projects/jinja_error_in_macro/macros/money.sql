{% macro cents(column) %}{{ colum }}{% endmacro %}
