"""`[tool.millstream]` of pyproject.toml."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from millstream.core.errors import Diagnostic, DiagnosticNote, MillstreamError, diagnostic_at, did_you_mean
from millstream.core.text import FileText, Location
from millstream.project.files import File, read_file
from millstream.project.references import IDENTIFIER
from millstream.project.shapes import describe_key
from millstream.project.toml_positions import TomlPosition, toml_positions
from millstream.project.values import Settings
from millstream.project.variables import plain_values, too_large, with_nul
from millstream.project.wording import type_name
from millstream.project.yaml_syntax import DEEPEST

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "pyproject.toml"
_HEADER = re.compile(
    r"""^\s*\[?\[?\s*(tool|"tool"|'tool')\s*\.\s*["']?millstream["']?\s*[\].=]""", re.MULTILINE
)
_TOO_DEEP = "lists or tables are nested too deeply"
_LONG_NUMBER = re.compile(r"(?<![\w\"'.])[+-]?[\d_]{4301,}")
_INIT = "create one with `millstream init PATH`, or set its folder with --project-dir"
_TABLE = ("tool", "millstream")


Names = tuple[str, ...]


def _folders(*names: str) -> Any:
    return msgspec.field(default_factory=lambda: names)


class ProjectShape(Struct, kw_only=True):
    """`[tool.millstream]` of pyproject.toml."""

    name: Annotated[str, describe_key("the project's name, by default that of [project]")] = ""
    profile: Annotated[str, describe_key("the profile of profiles.yml, by default the project's name")] = ""
    model_paths: Annotated[Names, describe_key("folders of models")] = _folders("models")
    macro_paths: Annotated[Names, describe_key("folders of macros and Python functions")] = _folders("macros")
    seed_paths: Annotated[Names, describe_key("folders of seeds and generators")] = _folders("seeds")
    test_paths: Annotated[Names, describe_key("folders of tests")] = _folders("tests")
    schema_paths: Annotated[Names, describe_key("folders of schemas: .avsc, .proto, .json")] = _folders(
        "schemas"
    )
    lint_paths: Annotated[Names, describe_key("folders of lint rules of the project, in Python")] = _folders(
        "lint"
    )
    target_path: Annotated[str, describe_key("where results are written")] = "target"
    line_length: Annotated[
        Annotated[int, msgspec.Meta(ge=20, le=1000)],
        describe_key("the length of lines at which `fmt` breaks them"),
    ] = 100
    indent: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=8)], describe_key("the blanks by which `fmt` indents lines")
    ] = 2
    vars: Annotated[dict[str, Any], describe_key("variables of templates")] = {}
    session_minutes: Annotated[
        int, describe_key("how long Spark waits in the background for the next command; 0: not at all")
    ] = 10
    env_vars: Annotated[
        Names, describe_key("environment variables that SQL and YAML may read: no secrets")
    ] = ()
    models: Annotated[dict[str, Any], describe_key("options of models, by folder")] = {}
    seeds: Annotated[dict[str, Any], describe_key("options of seeds, by folder")] = {}


_FIELDS = {field.name: field for field in msgspec.structs.fields(ProjectShape)}
_KEYS = [name.replace("_", "-") for name in _FIELDS]
_PATHS = tuple(name for name in _FIELDS if name.endswith("_paths"))
_PASSED_ON = (
    "target_path",
    "line_length",
    "indent",
    "vars",
    "env_vars",
    "models",
    "session_minutes",
)
_EXAMPLES = {
    "vars": "[tool.millstream.vars]",
    "models": "[tool.millstream.models]",
    "seeds": "[tool.millstream.seeds]",
}


def find_project(start: Path) -> Path:
    """Return the nearest folder, from `start` upwards, whose pyproject.toml has [tool.millstream]."""
    start = start.resolve()
    unreadable: Diagnostic | None = None
    for folder in (start, *start.parents):
        if not (folder / FILE).exists():
            continue
        file = read_file(folder, FILE)
        if isinstance(file, File) and _is_project(file.content):
            return folder
        if isinstance(file, Diagnostic):
            unreadable = unreadable or file
    what = "is not in a Millstream project" if start.is_dir() else "does not exist"
    raise MillstreamError(unreadable or Diagnostic("MS101", f"{start} {what}", None, _INIT))


def _is_project(content: str) -> bool:
    if "millstream" not in content:
        return False
    try:
        tool = tomllib.loads(content).get("tool")
    except (ValueError, RecursionError):
        return bool(_HEADER.search(content))
    return isinstance(tool, dict) and "millstream" in tool


def read_settings(root: Path) -> tuple[Settings, list[Diagnostic]]:
    """Read a project's settings; raise `MillstreamError` if there is no project, or the TOML is invalid."""
    file = read_file(root, FILE)
    if isinstance(file, Diagnostic):
        missing = not (root / FILE).exists()
        raise MillstreamError(Diagnostic("MS101", f"{root} has no {FILE}", None, _INIT) if missing else file)
    text = FileText(FILE, file.content)
    try:
        document = tomllib.loads(file.content)
        positions = toml_positions(file.content)
    except tomllib.TOMLDecodeError as error:
        raise MillstreamError(_syntax(text, error)) from None
    except ValueError:
        # Python reads no longer number; a TOML syntax error is a ValueError too.
        number = _LONG_NUMBER.search(file.content)
        start, stop = number.span() if number else (0, 1)
        diagnostic = diagnostic_at(
            text, start, stop, "MS104", "the number has too many digits", "put it in quotes"
        )
        raise MillstreamError(diagnostic) from None
    except RecursionError:
        raise MillstreamError(diagnostic_at(text, 0, 1, "MS104", _TOO_DEEP, "reduce the nesting")) from None
    if deep := next((position for path, position in positions.items() if len(path) > DEEPEST), None):
        raise MillstreamError(diagnostic_at(text, *deep.key, "MS104", _TOO_DEEP, "reduce the nesting"))
    return _Settings(root, text, document, positions).read()


class _Settings:
    """Reads the parts of one file; errors are collected in `diagnostics`."""

    def __init__(
        self,
        root: Path,
        text: FileText,
        document: dict[str, Any],
        positions: dict[tuple[str, ...], TomlPosition],
    ) -> None:
        self.root = root
        self.text = text
        self.positions = positions
        self.diagnostics: list[Diagnostic] = []
        package = document.get("project")
        self.package: dict[str, Any] = package if isinstance(package, dict) else {}
        tool = document.get("tool")
        if not isinstance(tool, dict) or "millstream" not in tool:
            message = f"{FILE} has no [tool.millstream]"
            raise MillstreamError(
                Diagnostic("MS101", message, Location(FILE, 1, 1, 2), f"add it, or {_INIT}")
            )
        table = tool["millstream"]
        if not isinstance(table, dict):
            self.value(_TABLE, "MS107", "'tool.millstream' is a table", "write [tool.millstream]")
            raise MillstreamError(*self.diagnostics)
        self.table: dict[str, Any] = table
        self.written_keys: dict[str, str] = {}
        """The keys of the file as written, by their Python names."""

    def key(
        self, path: tuple[str, ...], code: str, message: str, remedy: str, *notes: DiagnosticNote
    ) -> None:
        span = self.positions[path].key if path in self.positions else (0, 1)
        self.diagnostics.append(diagnostic_at(self.text, *span, code, message, remedy, *notes))

    def value(self, path: tuple[str, ...], code: str, message: str, remedy: str) -> None:
        while path and path not in self.positions:
            path = path[:-1]
        span = self.positions[path].value if path else (0, 1)
        self.diagnostics.append(diagnostic_at(self.text, *span, code, message, remedy))

    def read(self) -> tuple[Settings, list[Diagnostic]]:
        values = self.values()
        shape = ProjectShape(**values)
        for attribute in _PATHS:
            if attribute in values:
                setattr(shape, attribute, self.folders(attribute, values[attribute]))
        self.target_path(shape)
        name = self.name(shape)
        locations = {
            ".".join(path[3:]): self.text.location(*position.key)
            for path, position in self.positions.items()
            if path[:3] == (*_TABLE, "models") and len(path) > 3
        }
        version = self.package.get("version")
        settings = Settings(
            name=name,
            version=version if isinstance(version, str) else "",
            profile=shape.profile or name,
            model_locations=locations,
            **{field: getattr(shape, field) for field in (*_PATHS, *_PASSED_ON)},
        )
        return settings, self.diagnostics

    def values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, written in self.table.items():
            path, attribute = (*_TABLE, key), key.replace("-", "_")
            field = _FIELDS.get(attribute)
            if field is None:
                hint = did_you_mean(key, _KEYS, f"known keys: {', '.join(_KEYS)}")
                self.key(path, "MS106", f"unknown key '{key}' in [tool.millstream]", hint)
                continue
            if attribute in self.written_keys:
                first = self.positions.get((*_TABLE, self.written_keys[attribute]))
                note = DiagnosticNote("the other key", self.text.location(*first.key) if first else None)
                message = f"'{key}' and '{self.written_keys[attribute]}' are the same key"
                self.key(path, "MS111", message, "keep one of them", note)
                continue
            self.written_keys[attribute] = key
            value = plain_values(written)
            wrong = [(*path, *below) for below in too_large(value)]
            for wrong_path in wrong:
                self.value(wrong_path, "MS107", "the number does not fit in 64 bits", "put it in quotes")
            for below in with_nul(value):
                wrong.append((*path, *below))
                self.value(wrong[-1], "MS107", "a text can't contain the character NUL", "remove it")
            try:
                converted = msgspec.convert(value, field.type)
            except msgspec.ValidationError:
                self.wrong_type(path, key, value, field.type)
                continue
            if not wrong:
                values[attribute] = converted
        return values

    def wrong_type(self, path: tuple[str, ...], key: str, value: Any, type_: Any) -> None:
        if isinstance(value, list) and key.replace("-", "_") in _PATHS:
            for index, folder in enumerate(value):
                if not isinstance(folder, str):
                    message = f"a folder must be a string, not {folder!r}"
                    self.value((*path, str(index)), "MS107", message, "put it in quotes")
            return
        default = _FIELDS[key.replace("-", "_")].default
        if isinstance(default, int):
            self.value(
                path, "MS107", f"'{key}' is {_named(type_)}, not {value!r}", f"write {key} = {default}"
            )
            return
        example = _EXAMPLES.get(key, f'{key} = ["…"]' if key.endswith("paths") else f'{key} = "…"')
        shown = {dict: "a table", list: "a list", bool: str(value).lower()}.get(type(value), repr(value))
        self.value(path, "MS107", f"'{key}' is {_named(type_)}, not {shown}", f"write {example}")

    def folders(self, attribute: str, written: tuple[str, ...]) -> tuple[str, ...]:
        """Return the folders in normal form, without those that are not in the project."""
        folders: list[str] = []
        for index, folder in enumerate(written):
            path = (*_TABLE, self.written_keys[attribute], str(index))
            normal = posixpath.normpath(folder.replace("\\", "/"))
            if normal in {".", "..", ""} or normal.startswith(("../", "/")) or Path(folder).is_absolute():
                message = f"'{folder}' is not a folder inside the project"
                self.value(path, "MS107", message, f"name a folder below that of {FILE}")
                continue
            if not (self.root / normal).is_dir():
                self.missing(path, normal)
            folders.append(normal)
        return tuple(folders)

    def missing(self, path: tuple[str, ...], folder: str) -> None:
        """Only warn, since git does not store empty folders."""
        try:
            near = [child.name for child in self.root.iterdir() if child.is_dir() and child.name[0] != "."]
        except OSError:
            near = []
        hint = did_you_mean(folder, near, "create it, or fix the name")
        self.value(path, "MS102", f"folder '{folder}' does not exist", hint)
        self.diagnostics[-1] = msgspec.structs.replace(self.diagnostics[-1], severity="warning")

    def target_path(self, shape: ProjectShape) -> None:
        target = posixpath.normpath(shape.target_path.replace("\\", "/")) if shape.target_path else "."
        for attribute in _PATHS:
            for folder in getattr(shape, attribute):
                # The next compile would read compiled files as models.
                if (
                    f"{target}/".startswith(f"{folder}/")
                    or f"{folder}/".startswith(f"{target}/")
                    or target == "."
                ):
                    path = (*_TABLE, self.written_keys.get("target_path", "target-path"))
                    message = (
                        f"results can't be written to '{shape.target_path}': '{folder}' is an input folder"
                    )
                    self.value(path, "MS107", message, 'write target-path = "target"')
                    shape.target_path = "target"
                    return
        shape.target_path = target

    def name(self, shape: ProjectShape) -> str:
        package = self.package.get("name")
        named = package if isinstance(package, str) else ""
        name = shape.name or (named or self.root.name).replace("-", "_").replace(".", "_")
        if not IDENTIFIER.match(name):
            path = (*_TABLE, "name") if shape.name else ("project", "name") if named else _TABLE
            message = f"'{name}' can't be the name of a project"
            remedy = "use letters, digits and '_'" if shape.name else 'set name = "…" in [tool.millstream]'
            self.value(path, "MS110", message, remedy)
        return name


def _named(type_: Any) -> str:
    return {"a mapping": "a table", "a list": "a list of texts"}.get(type_name(type_), type_name(type_))


def _syntax(text: FileText, error: tomllib.TOMLDecodeError) -> Diagnostic:
    message = str(error)
    position = re.search(r"\(at line (\d+), column (\d+)\)", message)
    start = (
        text.offset(int(position.group(1)), int(position.group(2)))
        if position
        else max(0, len(text.content) - 1)
    )
    reason = message.partition(" (at ")[0]
    remedy = "check quotes, brackets and '=' here"
    return diagnostic_at(text, start, start + 1, "MS104", reason[0].lower() + reason[1:], remedy)
