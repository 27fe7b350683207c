-- What happened to orders, from each of their changes: a deleted order counts as well.
{{ config(materialized='table', unique_key=['day', 'op'], unbounded_state='accept') }}

select date(changed_at) as day, op, count(*) as changes
from {{ source('inventory', 'order_changes') }}
group by date(changed_at), op
