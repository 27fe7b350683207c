-- A row for each change of an order; a deleted one has only its key.
select
  coalesce(changes.after.order_id, changes.before.order_id) as order_id,
  changes.after.customer_id as customer_id,
  changes.after.status as status,
  changes.after.amount as amount,
  changes.op = 'd' as deleted,
  changes.source.lsn as lsn,
  timestamp_millis(changes.ts_ms) as changed_at
from {{ source('inventory', 'order_changes') }} as changes
