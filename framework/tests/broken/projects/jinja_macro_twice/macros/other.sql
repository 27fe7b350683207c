{% macro cents(x) %}{{ x }}{% endmacro %}
