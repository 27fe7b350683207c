{{ config(materialized='table', unique_key='region') }}
select * from {{ ref('regions') }}
