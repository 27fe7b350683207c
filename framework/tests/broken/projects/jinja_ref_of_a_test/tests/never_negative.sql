select * from {{ ref('clean_orders') }} where cents < 0
