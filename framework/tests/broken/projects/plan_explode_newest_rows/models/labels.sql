{{ config(materialized='table', unique_key=['product_id', 'label']) }}
select product_id, label from {{ ref('stg_products') }} lateral view explode(labels) t as label
