"""`[tool.millstream]` of pyproject.toml."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError, at, did_you_mean
from millstream.project.files import read_file
from millstream.project.properties import IDENTIFIER
from millstream.project.shapes import about
from millstream.project.values import Settings
from millstream.text import Location, Text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "pyproject.toml"


class ProjectShape(Struct, kw_only=True):
    """`[tool.millstream]` of pyproject.toml."""

    name: Annotated[str, about("the project's name, by default that of [project]")] = ""
    profile: Annotated[str, about("the profile of profiles.yml, by default the project's name")] = ""
    model_paths: Annotated[list[str], about("folders of models")] = msgspec.field(
        default_factory=lambda: ["models"]
    )
    macro_paths: Annotated[list[str], about("folders of macros and Python functions")] = msgspec.field(
        default_factory=lambda: ["macros"]
    )
    seed_paths: Annotated[list[str], about("folders of seeds and generators")] = msgspec.field(
        default_factory=lambda: ["seeds"]
    )
    test_paths: Annotated[list[str], about("folders of tests")] = msgspec.field(
        default_factory=lambda: ["tests"]
    )
    target_path: Annotated[str, about("where results are written")] = "target"
    vars: Annotated[dict[str, Any], about("variables of templates")] = {}
    models: Annotated[dict[str, Any], about("options of models, by folder")] = {}
    seeds: Annotated[dict[str, Any], about("options of seeds, by folder")] = {}


def find_project(start: Path) -> Path:
    """Return the nearest folder, from `start` upwards, whose pyproject.toml has [tool.millstream]."""
    start = start.resolve()
    for folder in (start, *start.parents):
        path = folder / FILE
        if path.is_file() and re.search(
            r"^\s*\[tool\.millstream[\].]", path.read_text(errors="replace"), re.MULTILINE
        ):
            return folder
    raise MillstreamError(
        Diagnostic(
            "MS101",
            f"{start} is not in a Millstream project",
            None,
            "make one with `millstream init NAME`, or name its folder with --project-dir",
        )
    )


def read_settings(root: Path) -> tuple[Settings, list[Diagnostic]]:
    file = read_file(root, FILE)
    if isinstance(file, Diagnostic):
        raise MillstreamError(file)
    text = Text(FILE, file.content)
    try:
        document = tomllib.loads(file.content)
    except tomllib.TOMLDecodeError as error:
        raise MillstreamError(_syntax(text, error)) from None
    table = document.get("tool", {}).get("millstream", {})
    package = document.get("project", {})
    places = dict(_places(text))
    diagnostics: list[Diagnostic] = []
    values: dict[str, Any] = {}
    fields = {field.name: field for field in msgspec.structs.fields(ProjectShape)}
    for key, value in table.items():
        place = places.get(f"tool.millstream.{key}", (0, 1))
        field = fields.get(key.replace("-", "_"))
        if field is None:
            hint = did_you_mean(
                key, [name.replace("_", "-") for name in fields], f"known keys: {', '.join(fields)}"
            )
            diagnostics.append(at(text, *place, "MS106", f"unknown key '{key}' in [tool.millstream]", hint))
            continue
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            said = str(error).replace("`", "'")
            diagnostics.append(
                at(text, *place, "MS107", f"'{key}': {said[0].lower()}{said[1:]}", "mend the value")
            )
    shape = ProjectShape(**values)
    name = shape.name or str(package.get("name") or root.name).replace("-", "_")
    if not IDENTIFIER.match(name):
        place = places.get("tool.millstream.name", places.get("project.name", (0, 1)))
        diagnostics.append(
            at(
                text,
                *place,
                "MS110",
                f"'{name}' can't be the name of a project",
                "use letters, digits and '_'",
            )
        )
    settings = Settings(
        name=name,
        version=str(package.get("version") or ""),
        profile=shape.profile or name,
        model_paths=tuple(shape.model_paths),
        macro_paths=tuple(shape.macro_paths),
        seed_paths=tuple(shape.seed_paths),
        test_paths=tuple(shape.test_paths),
        target_path=shape.target_path,
        vars=shape.vars,
        models=shape.models,
        seeds=shape.seeds,
        model_locations=_below(text, places, "tool.millstream.models."),
    )
    return settings, diagnostics


def _below(text: Text, places: dict[str, tuple[int, int]], prefix: str) -> dict[str, Location]:
    return {
        key.removeprefix(prefix): text.location(*place)
        for key, place in places.items()
        if key.startswith(prefix)
    }


def _syntax(text: Text, error: tomllib.TOMLDecodeError) -> Diagnostic:
    message = str(error)
    found = re.search(r"\(at line (\d+), column (\d+)\)", message)
    start = text.offset(int(found.group(1)), int(found.group(2))) if found else max(0, len(text.content) - 1)
    said = message.partition(" (at ")[0]
    return at(
        text, start, start + 1, "MS104", said[0].lower() + said[1:], "check quotes, brackets and '=' here"
    )


_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")


def _places(text: Text) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield dotted keys with the offsets of where they stand: tomllib tells no places."""
    table, offset = "", 0
    for line in text.content.splitlines(keepends=True):
        if found := _HEADER.match(line):
            table = _dotted(found.group(1))
            yield table, (offset + found.start(1), offset + found.end(1))
            table += "."
        elif found := _KEY.match(line):
            yield table + _dotted(found.group(1)), (offset + found.start(1), offset + found.end(1))
        offset += len(line)


def _dotted(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
