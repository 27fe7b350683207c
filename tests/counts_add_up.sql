-- A user's activities are at least as many as those of the types that are counted.
select
  counts.user_id,
  counts.total_count
from {{ ref('active_users') }} as counts
where counts.total_count
  < {% for type in var('activity_types') %}counts.{{ type }}_count{{ '' if loop.last else ' + ' }}{% endfor %}
