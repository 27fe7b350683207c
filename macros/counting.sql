{#- How many rows of a group have this value in this column. -#}
{%- macro count_when(column, value) -%}
  count_if({{ column }} = '{{ value }}')
{%- endmacro -%}

{#- One `<value>_count` column for each of the values, in their order. -#}
{%- macro counts_by(column, values) -%}
  {%- for value in values -%}
    {{ count_when(column, value) }} as {{ value }}_count
    {%- if not loop.last %},
  {% endif -%}
  {%- endfor -%}
{%- endmacro -%}
