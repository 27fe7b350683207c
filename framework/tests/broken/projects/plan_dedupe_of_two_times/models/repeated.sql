{{ config(dedupe={'keys': ['customer_id'], 'within': '1 hour'}) }}
select a.customer_id, a.ordered_at, b.ordered_at as repeated_at
from {{ source('app', 'orders') }} as a
join {{ source('app', 'orders') }} as b
  on a.customer_id = b.customer_id and b.ordered_at between a.ordered_at and a.ordered_at + interval 1 hour
