select
  e.customer_id,
  session_window(e.ordered_at, '5 minutes') as session,
  count(*) as n
from {{ source('app', 'orders') }} as e
group by e.customer_id, session_window(e.ordered_at, '5 minutes')
