"""An explanation as JSON; `schema_version` changes when a field is removed or changes its meaning."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.explain.explanation import Explanation


def as_data(explanation: Explanation) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(explanation, enc_hook=str)
    return data
