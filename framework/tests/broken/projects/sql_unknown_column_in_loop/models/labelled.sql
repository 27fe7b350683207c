{% set names = ['cents', 'cets'] %}
select c.customer_id{% for name in names %}, c.{{ name }} as {{ name }}_{{ loop.index }}{% endfor %}, '' as label
from {{ ref('clean_orders') }} as c
