"""Encodes values that can contain ids of nodes."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.core.node_id import encode_id

_JSON = msgspec.json.Encoder(enc_hook=encode_id)
_SORTED_JSON = msgspec.json.Encoder(enc_hook=encode_id, order="deterministic")
_MSGPACK = msgspec.msgpack.Encoder(enc_hook=encode_id)
_SORTED_MSGPACK = msgspec.msgpack.Encoder(enc_hook=encode_id, order="deterministic")

to_json = _JSON.encode
to_sorted_json = _SORTED_JSON.encode
"""The same for equal values: the keys of dictionaries and the members of sets are in order."""
to_msgpack = _MSGPACK.encode
to_sorted_msgpack = _SORTED_MSGPACK.encode


def to_builtins(value: Any) -> Any:
    """Return a value as dictionaries, lists and texts."""
    return msgspec.to_builtins(value, enc_hook=encode_id)
