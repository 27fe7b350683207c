-- A topic with the sales of each category in ten seconds, refined while they last.
{{ config(materialized='sink', key=['category', 'since']) }}

select
  category,
  window.start as since,
  sum(quantity) as drinks,
  sum(amount) as revenue
from {{ ref('stg_orders') }}
group by window(ordered_at, '10 seconds'), category
