{#- Cents as money with two digits. -#}
{%- macro cents_to_money(cents) -%}
  cast(({{ cents }}) / 100.0 as decimal(12, 2))
{%- endmacro -%}
