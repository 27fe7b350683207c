"""What a session and its clients say to each other: JSON after its length, with open files."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!I")
_FILES = 8

Message = dict[str, Any]


def send_message(connection: socket.socket, message: Message, files: tuple[int, ...] = ()) -> None:
    """Send a message; raise an `OSError` if the other side has gone."""
    content = json.dumps(message).encode()
    connection.sendall(_LENGTH.pack(len(content)))
    if files:
        sent = socket.send_fds(connection, [content[:1]], list(files))
        content = content[sent:]
    connection.sendall(content)


def receive_message(connection: socket.socket) -> tuple[Message, list[int]] | None:
    """Return the next message and its files, or None if the other side has gone."""
    try:
        head, files = _receive(connection, _LENGTH.size)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        content, more = _receive(connection, length)
    except OSError:
        return None
    if len(content) < length:
        return None
    return json.loads(content), [*files, *more]


def _receive(connection: socket.socket, length: int) -> tuple[bytes, list[int]]:
    content, files = b"", []
    while len(content) < length:
        part, received, _, _ = socket.recv_fds(connection, length - len(content), _FILES)
        files += received
        if not part:
            break
        content += part
    return content, files
