"""The JSON Schema of `review --output json`, derived from the values."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.core.node_id import id_schema
from millstream.review.values import Review


def review_schema() -> dict[str, Any]:
    """Return the schema of a review with the diagnostics that every command adds."""
    schema = msgspec.json.schema(Review, schema_hook=id_schema)
    schema["$defs"]["Review"]["properties"]["diagnostics"] = {"type": "array", "items": {"type": "object"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
