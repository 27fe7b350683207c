{{ config(materialized='sink', topic='revenue_per_hour', key='revenue_key') }}

select
  concat(orders.category, '@', unix_millis(window.start)) as revenue_key,
  window.start as hour,
  orders.category,
  sum(orders.quantity) as drinks,
  sum(orders.amount) as revenue
from {{ ref('stg_orders') }} as orders
group by window(orders.ordered_at, '1 hour'), orders.category
