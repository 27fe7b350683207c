"""Python functions that a test replaces: every call gives the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from millstream.project.values import Function, Project

_BEFORE = "import datetime\nfrom decimal import Decimal\n\n"


def stub_functions(project: Project, given: Mapping[str, Any], folder: Path) -> Project:
    """Return a project in which some functions are files of their own."""
    if not given:
        return project
    own = {name: _stub(project.functions[name], value, folder) for name, value in given.items()}
    return replace(project, functions={**project.functions, **own})


def _stub(function: Function, value: Any, folder: Path) -> Function:
    gives = f"yield from {value!r}" if function.table else f"return {value!r}"
    names = ", ".join(parameter.name for parameter in function.parameters)
    text = f"{_BEFORE}def {function.name}({names}):\n    {gives}\n"
    digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    file = folder / f"{function.name}_{digest}.py"
    file.write_text(text, encoding="utf-8")
    return replace(function, path=str(file), digest=digest)
