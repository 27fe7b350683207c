{% if false %}select 1 as a{% endif %}
