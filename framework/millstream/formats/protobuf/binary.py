"""Schemas that are no text: Confluent's client for Python registers the descriptor of a file, in base64."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence


def registered_descriptor(text: str, name: str) -> bytes:
    """Return a descriptor under the name that other files import it by; empty if a schema is a text."""
    try:
        data = b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        descriptor = FileDescriptorProto.FromString(data)
    except DecodeError:
        return b""
    descriptor.name = name
    renamed: bytes = descriptor.SerializeToString()
    return renamed


def descriptor_set(files: Sequence[bytes]) -> bytes:
    if not files:
        return b""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    descriptors: bytes = FileDescriptorSet(
        file=map(FileDescriptorProto.FromString, files)
    ).SerializeToString()
    return descriptors
