{#- One record key for a key within a window, so that every window of a user stays in a compacted topic. -#}
{%- macro window_key(key, start) -%}
  concat({{ key }}, '@', unix_millis({{ start }}))
{%- endmacro -%}
