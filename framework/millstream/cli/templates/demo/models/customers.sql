-- A table with a row for each customer, kept forever, because their number is limited.
{{ config(materialized='table', unique_key='customer_id', unbounded_state='accept') }}

select
  customer_id,
  count(*) as orders,
  sum(amount) as spent,
  loyalty_level(count(*)) as level,
  max(ordered_at) as last_ordered_at
from {{ ref('stg_orders') }}
group by customer_id
