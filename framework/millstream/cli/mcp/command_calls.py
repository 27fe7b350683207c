"""Calls commands for an agent: each in a process of its own, whose answer is its JSON document."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from msgspec import Struct

Answer = dict[str, Any]
_MODULE = (sys.executable, "-m", "millstream")


class ProjectCommands(Struct, frozen=True):
    """The commands of a project, with the options that the server was started with."""

    root: Path
    options: tuple[str, ...] = ()
    """Such as `--target production`."""

    async def call(self, command: str, *options: str, names: Sequence[str] = ()) -> Answer:
        """Run a command, which ends if its agent stops waiting; `names` are no options, whatever they say."""
        words = [command, "--output", "json", "--project-dir", str(self.root), *self.options, *options]
        process = await asyncio.create_subprocess_exec(
            *_MODULE,
            *words,
            *(["--", *names] if names else []),
            cwd=self.root,
            stdin=asyncio.subprocess.DEVNULL,  # the server's own is the protocol
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            output, errors = await process.communicate()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        return _document(output, errors) | {"exit_code": process.returncode}


def _document(output: bytes, errors: bytes) -> Answer:
    try:
        document = json.loads(output)
    except ValueError:
        raise ToolError((errors or output).decode("utf-8", "replace").strip()) from None
    return document if isinstance(document, dict) else {"result": document}


def values_of(option: str, text: str) -> Sequence[str]:
    """Return an option with its values, if there are any; raise if one of them would be another option."""
    values = text.split()
    if wrong := [value for value in values if value.startswith("-")]:
        message = f"'{wrong[0]}' is an option, not a value of {option}"
        raise ToolError(message)
    return (option, *values) if values else ()
