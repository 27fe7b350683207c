-- One row per user: state grows with the number of users, not with their activity.
{{ config(materialized='view', unbounded_state='accept') }}

select
  activity.user_id,
  count(*) as total_count,
  {{ counts_by('activity.activity_type', var('activity_types')) }},
  sum(coalesce(activity.score, 0)) as total_score,
  {{ safe_divide('total_score', 'total_count', digits=2) }} as avg_score,
  max_by(
    struct(
      activity.activity_type as type,
      activity.score as score,
      activity.duration_ms as duration_ms,
      activity.timestamp as timestamp
    ),
    activity.event_time
  ) as last_activity,
  max(activity.event_time) as last_active_at
from {{ ref('stg_account_activity') }} as activity
group by activity.user_id
