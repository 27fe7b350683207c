-- A row for each customer, kept forever, because their number is limited.
{{ config(materialized='table', unique_key='customer_id', unbounded_state='accept') }}

select
  orders.customer_id,
  count(*) as orders,
  sum(orders.amount) as spent,
  loyalty_level(count(*)) as level,
  max(orders.ordered_at) as last_ordered_at
from {{ ref('stg_orders') }} as orders
where orders.customer_id is not null
group by orders.customer_id
