{#- A ratio, or NULL where the denominator is not positive: ANSI mode raises on a division by zero. -#}
{%- macro safe_divide(numerator, denominator, digits=4) -%}
  case when {{ denominator }} > 0 then round({{ numerator }} / {{ denominator }}, {{ digits }}) end
{%- endmacro -%}
