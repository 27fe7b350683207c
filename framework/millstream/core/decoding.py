"""Decodes values of types, in any thread.

msgspec collects what it needs of a type when it first decodes it. If two threads do so at once, the process
crashes. So decoders are made one at a time.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

from millstream.core.node_id import decode_id

T = TypeVar("T")
_MAKING = Lock()
_FROM_JSON: dict[Any, msgspec.json.Decoder[Any]] = {}
_FROM_MSGPACK: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def from_json(data: bytes | str, type_: type[T]) -> T:
    decoder = _FROM_JSON.get(type_)
    if decoder is None:
        with _MAKING:
            decoder = _FROM_JSON.setdefault(type_, msgspec.json.Decoder(type_, dec_hook=decode_id))
    try:
        result: T = decoder.decode(data)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    return result


def from_msgpack(data: bytes, type_: type[T]) -> T:
    decoder = _FROM_MSGPACK.get(type_)
    if decoder is None:
        with _MAKING:
            decoder = _FROM_MSGPACK.setdefault(type_, msgspec.msgpack.Decoder(type_, dec_hook=decode_id))
    try:
        result: T = decoder.decode(data)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    return result
