select * from {{ ref('unused') }} where cents < 0
