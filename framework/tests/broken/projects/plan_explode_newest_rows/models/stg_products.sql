select product_id, labels from {{ source('catalog', 'products') }}
