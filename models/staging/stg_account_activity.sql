select
  activity.user_id,
  activity.activity_type,
  activity.score,
  activity.duration_ms,
  activity.timestamp,
  activity.event_time
from {{ source('shop', 'account_activity') }} as activity
where activity.activity_type is not null
