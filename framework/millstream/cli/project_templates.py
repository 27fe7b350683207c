"""The templates of new projects. A new one needs a folder in `templates/` and a line here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from millstream.core.errors import Diagnostic, MillstreamError, reporting_os_errors

FOLDER = Path(__file__).parent / "templates"
_SHARED = FOLDER / "shared"
"""The files that all projects have."""
_SCHEMAS = ("properties", "profiles", "project", "selectors")
_PLACEHOLDER = "__name__"
_DOT = "dot_"
"""The prefix of hidden files in the templates; with a real dot, tools would read them."""


class ProjectTemplate(NamedTuple):
    name: str
    help: str
    """What a project contains."""
    traffic: str
    """What its generators make."""
    model: str
    """A model that is worth a look after the first build."""


TEMPLATES = (
    ProjectTemplate(
        "minimal", "one source, one model, a generator and a unit test", "generated clicks", "clicks_per_page"
    ),
    ProjectTemplate(
        "events",
        "a café's orders, with three models, a macro, a Python function, seeds and tests",
        "generated orders",
        "customers",
    ),
    ProjectTemplate(
        "cdc",
        "tables that follow a database, from the changes that Debezium captures",
        "generated changes",
        "revenue_per_city",
    ),
    ProjectTemplate(
        "demo",
        "what `millstream demo` shows: live orders and payments, with windows and a join of two streams",
        "generated orders and payments",
        "customers",
    ),
)
NAMES = tuple(template.name for template in TEMPLATES)


def template_of(name: str) -> ProjectTemplate:
    return next(template for template in TEMPLATES if template.name == name)


def make_project(root: Path, name: str, template: ProjectTemplate) -> list[str]:
    """Write a project into a new or empty folder, and return the paths of its files."""
    from millstream.cli.commands.schema import all_schemas, write_schemas

    paths = []
    with reporting_os_errors("MS702", f"the project can't be written to {root}", "choose a writable folder"):
        if root.is_symlink() or root.exists():
            _check_empty(root)
        for path, file in (*files_of(_SHARED), *files_of(FOLDER / template.name)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            content = file.read_text(encoding="utf-8").replace(_PLACEHOLDER, name)
            content += uv_sources() if path == "pyproject.toml" else ""
            (root / path).write_text(content, encoding="utf-8", newline="\n")
            paths.append(path)
        json_schemas = all_schemas()
        write_schemas(root / ".schemas", {schema: json_schemas[schema] for schema in _SCHEMAS})
    return sorted([*paths, *(f".schemas/{schema}.json" for schema in _SCHEMAS)])


def _check_empty(root: Path) -> None:
    if not root.is_dir():
        reason = f"'{root}' is a file"
    elif any(path.name != ".git" for path in root.iterdir()):
        reason = f"the folder '{root}' is not empty"
    else:
        return
    remedy = "choose another name, or empty the folder first"
    raise MillstreamError(Diagnostic("MS703", reason, None, remedy))


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file of a template with its path in a project."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            path = file.relative_to(folder)
            parts = [f".{part.removeprefix(_DOT)}" if part.startswith(_DOT) else part for part in path.parts]
            yield "/".join(parts), file


_SOURCES = """\

# Millstream is installed from {0}, so uv gets it there, too. Remove this to use a release.
[tool.uv.sources]
millstream = {{ {1} }}
"""


def uv_sources() -> str:
    """Return the table of `pyproject.toml`; empty for a release, which the package registry has."""
    try:
        text = distribution("millstream").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return _sources(json.loads(text)) if text else ""


def _sources(direct: dict[str, dict[str, object]]) -> str:
    """Return the table for a `direct_url.json`: https://packaging.python.org/specifications/direct-url/."""
    url = str(direct["url"])
    if "vcs_info" in direct:
        git, commit = json.dumps(url), json.dumps(direct["vcs_info"]["commit_id"])
        return _SOURCES.format("a repository", f"git = {git}, rev = {commit}")
    if not url.startswith("file:"):
        return _SOURCES.format("an address", f"url = {json.dumps(url)}")
    path = Path(url2pathname(urlsplit(url).path))
    if not path.exists():
        return ""  # a wheel that was removed after its installation
    editable = ", editable = true" if direct.get("dir_info", {}).get("editable") else ""
    return _SOURCES.format(
        "a folder" if path.is_dir() else "a file", f"path = {json.dumps(str(path))}{editable}"
    )
