{{ config(emit='on_close') }}
select window(e.ordered_at + interval 1 hour, '1 hour').start as began, count(*) as n
from {{ source('app', 'orders') }} as e
group by window(e.ordered_at + interval 1 hour, '1 hour')
