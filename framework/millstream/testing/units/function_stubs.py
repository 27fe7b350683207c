"""Replaces Python functions by stubs that return a fixed value."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from millstream.project.values import Function, Project

_IMPORTS = "import datetime\nfrom decimal import Decimal\n\n"


def stub_functions(project: Project, values: Mapping[str, Any], folder: Path) -> Project:
    """Return the project with stubs, in generated files, for some functions."""
    if not values:
        return project
    stubs = {name: _stub(project.functions[name], value, folder) for name, value in values.items()}
    return replace(project, functions={**project.functions, **stubs})


def _stub(function: Function, value: Any, folder: Path) -> Function:
    body = f"yield from {value!r}" if function.table else f"return {value!r}"
    names = ", ".join(parameter.name for parameter in function.parameters)
    text = f"{_IMPORTS}def {function.name}({names}):\n    {body}\n"
    digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    file = folder / f"{function.name}_{digest}.py"
    file.write_text(text, encoding="utf-8")
    return replace(function, path=str(file), digest=digest)
