-- A row per user is what this is for: state grows with the users, not with their activity.
{{ config(unbounded_state='accept') }}

select
  activity.user_id,
  count(*) as total_count,
  {{ counts_by('activity.activity_type', var('activity_types')) }},
  sum(coalesce(activity.score, 0)) as total_score,
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
from {{ source('shop', 'user_activity') }} as activity
where activity.activity_type is not null
group by activity.user_id
