-- A row for each change of a customer; a deleted one has only its key.
select
  coalesce(changes.after.customer_id, changes.before.customer_id) as customer_id,
  changes.after.name as name,
  changes.after.city as city,
  changes.op = 'd' as deleted,
  changes.source.lsn as lsn,
  timestamp_millis(changes.ts_ms) as changed_at
from {{ source('inventory', 'customer_changes') }} as changes
