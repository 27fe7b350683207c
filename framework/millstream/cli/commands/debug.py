"""`millstream debug`."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import click
from msgspec import Struct, field, to_builtins
from rich.text import Text

from millstream import __version__
from millstream.cli.connections import Attempt, connections
from millstream.cli.diagnostics import count
from millstream.cli.jar_progress import fetching
from millstream.cli.options import Common, cli_command
from millstream.cli.output import finish, print_json
from millstream.cli.project import root_of
from millstream.core.byte_sizes import size_in_words
from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.core.text import clean
from millstream.local.jars import fetch as fetch_jars
from millstream.local.jars import jars_folder, jars_of, missing, read_catalog
from millstream.local.java import java as find_java
from millstream.project.files import find_files
from millstream.project.profiles import read_target
from millstream.project.secrets import MASK, is_secret_name
from millstream.project.settings import read_settings
from millstream.project.values import Settings
from millstream.project.variables import merge_variables

CACHE = "cache"
"""The folder in the target folder that `millstream.compile.cache` writes; a test compares the two."""
_INDENT = " " * 13
_MARKS = {"good": ("✓", "green"), "warning": ("!", "yellow"), "bad": ("✗", "red")}


class Check(Struct, frozen=True):
    """The result of one check."""

    name: str
    state: Literal["good", "warning", "bad"]
    finding: str = field(name="found")
    remedy: str = ""
    details: tuple[str, ...] = ()


@cli_command(
    "debug",
    "millstream debug",
    "millstream debug --target production --output json",
    "millstream debug --fetch",
)
@click.option("--fetch", is_flag=True, help="Download all missing jars now, and verify the cached ones.")
def command(common: Common, *, fetch: bool) -> int:
    """Check the installation, the project and its target, and test its connections.

    Kafka, the tables' store, the schema registry and the Spark master must answer; what commands start
    themselves is not started. Each check is one line, with a remedy if it fails. Secrets are masked. The exit
    code is 2 if a check fails. A missing Java is only a warning, because only running pipelines needs it.
    """
    checks = [*machine(common, fetch=fetch), *project(common)]
    if common.style.json:
        print_json({"diagnostics": [], "checks": to_builtins(checks)})
    else:
        shown = [check for check in checks if not common.style.quiet or check.state == "bad"]
        finish(common.style, text=Text("\n").join(map(line, shown)) if shown else None)
    return 2 if any(check.state == "bad" for check in checks) else 0


def line(check: Check) -> Text:
    mark, color = _MARKS[check.state]
    text = Text.assemble(
        (mark, f"bold {color}"), " ", (f"{check.name:<10}", "bold"), " ", clean(check.finding)
    )
    for detail in check.details:
        text.append(f"\n{_INDENT}{clean(detail)}", "dim")
    return text.append(f"\n{_INDENT}{clean(check.remedy)}", color) if check.remedy else text


def machine(common: Common, *, fetch: bool = False) -> Iterator[Check]:
    yield Check("millstream", "good", __version__)
    yield Check("Python", "good", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield java()
    yield jars(common, fetch=fetch)


def java() -> Check:
    try:
        jvm = find_java()
    except MillstreamError as error:
        (diagnostic,) = error.diagnostics
        return Check("Java", "warning", diagnostic.message.removeprefix("Java: "), diagnostic.help)
    return Check("Java", "good", f"{jvm.version} at {jvm.program}")


def jars(common: Common, *, fetch: bool) -> Check:
    """Count the jars of all features; with `fetch`, verify the cached ones and download the others."""
    catalog, folder = read_catalog(), jars_folder()
    if fetch:
        try:
            with fetching(common.style) as progress:
                fetch_jars(tuple(catalog), progress, verify=True)
        except MillstreamError as error:
            return Check("jars", "bad", error.diagnostics[0].message, error.diagnostics[0].help)
    everything, lacking = jars_of(catalog, catalog), missing(catalog)
    if not lacking:
        return Check("jars", "good", f"all {len(everything)} in {folder}")
    size = sum(jar.size for jar in lacking)
    present = f"{len(everything) - len(lacking)} of {len(everything)} in {folder}"
    later = f"the others ({size_in_words(size)}) are downloaded when needed; --fetch downloads them now"
    return Check("jars", "good", present, details=(later,))


def project(common: Common) -> Iterator[Check]:
    try:
        root = root_of(common)
        settings, problems = read_settings(root)
        variables, more = merge_variables(settings.vars, common.vars)
        problems += more
    except MillstreamError as error:
        yield from (
            Check("project", "bad", diagnostic.message, diagnostic.help) for diagnostic in error.diagnostics
        )
        return
    yield Check("project", "bad" if problems else "good", f"{settings.name} in {root}")
    yield from (_diagnostic_check("project", diagnostic) for diagnostic in problems)
    yield from profile(common, root, settings, variables)
    yield files(root, settings)
    yield cache(root, settings)
    yield writes(root, settings)


def profile(common: Common, root: Path, settings: Settings, variables: dict[str, Any]) -> Iterator[Check]:
    try:
        target, problems = read_target(root, settings, common.target, common.profiles_dir, variables)
    except MillstreamError as error:
        yield from (_diagnostic_check("target", diagnostic) for diagnostic in error.diagnostics)
        return
    bad = any(diagnostic.severity == "error" for diagnostic in problems)
    if not bad:
        details = tuple(f"{key}: {value}" for key, value in flat(target.settings))
        yield Check("target", "good", f"{target.name} of profile {target.profile}", details=details)
    for diagnostic in problems:
        yield _diagnostic_check("target", diagnostic, warning=diagnostic.severity == "warning")
    if not bad:
        yield from map(_tried, connections(target, root))


def _tried(connection: tuple[str, Attempt]) -> Check:
    name, attempt = connection
    try:
        return Check(name, "good", attempt())
    except MillstreamError as error:
        return _diagnostic_check(name, error.diagnostics[0])


def _diagnostic_check(name: str, diagnostic: Diagnostic, *, warning: bool = False) -> Check:
    text = f"{diagnostic.message} ({diagnostic.location})" if diagnostic.location else diagnostic.message
    return Check(name, "warning" if warning else "bad", text, diagnostic.help)


def flat(settings: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings by dotted key; values are masked if their key sounds like a secret.

    Spark's own options already begin with `spark.`, the key that they are below.
    """
    for key, value in settings.items():
        name = str(key) if above and str(key).startswith(above) else f"{above}{key}"
        if isinstance(value, dict):
            yield from flat(value, f"{name}.")
        else:
            yield name, MASK if is_secret_name(str(key)) else str(value)


def files(root: Path, settings: Settings) -> Check:
    kinds = (
        ("model", settings.model_paths, (".sql",)),
        ("YAML file", settings.model_paths, (".yml", ".yaml")),
        ("macro file", settings.macro_paths, (".sql", ".py")),
        ("seed", settings.seed_paths, (".csv",)),
        ("generator file", settings.seed_paths, (".py",)),
        ("test file", settings.test_paths, (".sql", ".yml", ".yaml", ".py")),
    )
    counts = {noun: sum(1 for _ in find_files(root, folders, suffixes)) for noun, folders, suffixes in kinds}
    text = ", ".join(count(number, noun) for noun, number in counts.items())
    if counts["model"] == 0:
        where = ", ".join(f"{folder}/" for folder in settings.model_paths)
        return Check("files", "bad", text, f"write a model: an .sql file with a SELECT in {where}")
    return Check("files", "good", text)


def cache(root: Path, settings: Settings) -> Check:
    shown = f"{settings.target_path}/{CACHE}/"
    try:
        size = sum(file.stat().st_size for file in (root / shown).glob("*.msgpack"))
    except OSError as error:
        remedy = "remove it; the next compile recreates it"
        return Check("cache", "warning", f"{shown}: {os_reason(error)}", remedy)
    return Check("cache", "good", f"{size_in_words(size)} in {shown}" if size else f"nothing yet in {shown}")


def writes(root: Path, settings: Settings) -> Check:
    """Try to write to the nearest existing folder, because permission bits alone don't decide it."""
    target = root / settings.target_path
    folder = next(path for path in (target, *target.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            return Check("writes", "good", f"to {settings.target_path}/")
    except OSError as error:
        remedy = "make it writable, or set target-path"
        return Check("writes", "bad", f"{folder}: {os_reason(error)}", remedy)
