"""Where Millstream is installed from, as uv's sources of a new project name it."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

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
