{{ config(key='metrics_key') }}

-- Spark takes no subquery inside a lambda, so the map is a column before it is used in one.
with with_map as (
  select
    metrics.*,
    {{ lookup_map('products', 'product_id', 'category') }} as category_of
  from {{ ref('hourly_user_activity') }} as metrics
),
with_categories as (
  select
    with_map.* except (category_of),
    filter(
      transform(
        slice(with_map.product_ids, 1, {{ var('top_products') }}),
        product_id -> with_map.category_of[product_id]
      ),
      category -> category is not null
    ) as categories
  from with_map
)
select
  found.* except (categories),
  slice(
    transform(
      -- Most products first, then by name: a struct sorts by its fields from left to right.
      array_sort(
        transform(
          array_distinct(found.categories),
          category -> struct(
            -size(filter(found.categories, other -> other = category)) as descending,
            category as category
          )
        )
      ),
      entry -> struct(entry.category as category, -entry.descending as products)
    ),
    1,
    {{ var('top_categories') }}
  ) as top_categories
from with_categories as found
