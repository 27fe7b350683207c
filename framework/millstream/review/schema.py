"""The JSON Schema of `review --output json`, made of the values themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.review.values import Review


def review_schema() -> dict[str, Any]:
    """Return the schema; beside what a review found stand the diagnostics that every command has."""
    found = msgspec.json.schema(Review)
    found["$defs"]["Review"]["properties"]["diagnostics"] = {"type": "array", "items": {"type": "object"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | found
