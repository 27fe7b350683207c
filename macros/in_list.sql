{#- `column in ('a', 'b')` for a list, usually a project variable. -#}
{%- macro in_list(column, values, negated=false) -%}
  {{ column }} {{ 'not in' if negated else 'in' }} (
  {%- for value in values -%}'{{ value }}'{{ '' if loop.last else ', ' }}{%- endfor -%}
  )
{%- endmacro -%}
