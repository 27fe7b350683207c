"""The values of the topics, whole: by hand, nobody lists other fields for each query."""

STOREFRONT_EVENTS = """
    event_id string, type string, user_id string, timestamp bigint, product_id string, category string,
    value double, session_id string, metadata struct<source: string, device: string, browser: string>
"""
ACCOUNT_ACTIVITY = (
    "activity_type string, score bigint, timestamp bigint, session_id string, duration_ms bigint"
)
PARTNER_EVENTS = """
    event_type string, priority string, is_valid boolean, score bigint, timestamp bigint, batch_id bigint,
    source string
"""
DEVICE_EVENTS = """
    user_id bigint, timestamp bigint, event_type_id bigint, value bigint, score bigint,
    metadata struct<batch: bigint, version: bigint>
"""
APP_EVENTS = "event_id string, event_type string, product_id string, value double, timestamp bigint"
PAGE_HITS = "path string, timestamp bigint"
PRODUCTS = "name string, category string, price decimal(10,2), timestamp bigint"
USER_PROFILES = "segment string, account_age_days int, timestamp bigint"

# What one query writes and another reads.
VALID_PARTNER_EVENTS = """
    event_id string, event_type string, priority string, score bigint, timestamp bigint, batch_id bigint,
    source string, event_time timestamp
"""
ENRICHED_PARTNER_EVENTS = """
    event_id string, status string, event_type string, priority string, score bigint, timestamp bigint,
    batch_id bigint, source string
"""
ADJUSTED_DEVICE_EVENTS = """
    user_id bigint,
    processed_event struct<type: string, user_id: bigint, value: bigint, score: bigint, timestamp: bigint>,
    metadata struct<batch: bigint, version: bigint>,
    processing_info struct<optimized: boolean, version: string>
"""
CATEGORIZED_APP_EVENTS = """
    event_id string, user_id string, event_type string, category string, product_id string, value double,
    timestamp bigint, event_time timestamp
"""
HOURLY_USER_ACTIVITY = """
    metrics_key string, window_start timestamp, window_end timestamp, user_id string, event_count bigint,
    view_count bigint, click_count bigint, purchase_count bigint, search_count bigint, total_value double,
    product_ids array<string>, unique_products int, last_updated timestamp
"""
HOURLY_USER_INTERESTS = (
    f"{HOURLY_USER_ACTIVITY}, top_categories array<struct<category: string, products: int>>"
)
