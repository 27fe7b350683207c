{{ config(watermark={'column': 'ordered_at', 'delay': '1 hour'}) }}
select customer_id, ordered_at from {{ source('app', 'orders') }}
