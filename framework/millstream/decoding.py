"""Decodes values of types, in any thread.

msgspec collects what it needs of a type when it first decodes it. If two threads do so at once, the process
crashes. So decoders are made one at a time.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_MAKING = Lock()
_FROM_JSON: dict[Any, msgspec.json.Decoder[Any]] = {}
_FROM_MSGPACK: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def from_json(data: bytes | str, wanted: type[T]) -> T:
    found = _FROM_JSON.get(wanted)
    if found is None:
        with _MAKING:
            found = _FROM_JSON.setdefault(wanted, msgspec.json.Decoder(wanted))
    try:
        result: T = found.decode(data)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    return result


def from_msgpack(data: bytes, wanted: type[T]) -> T:
    found = _FROM_MSGPACK.get(wanted)
    if found is None:
        with _MAKING:
            found = _FROM_MSGPACK.setdefault(wanted, msgspec.msgpack.Decoder(wanted))
    try:
        result: T = found.decode(data)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    return result
