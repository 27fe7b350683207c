"""`millstream debug`."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import click
from msgspec import Struct, field
from rich.text import Text

from millstream import __version__
from millstream.cli.connections import Attempt, list_connections
from millstream.cli.diagnostics import count_of
from millstream.cli.jar_progress import jar_progress
from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.output import print_json, print_result
from millstream.cli.project import root_of
from millstream.core.byte_sizes import size_in_words
from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.core.text import clean_text
from millstream.local.jars import fetch_jars, jars_folder, jars_of, missing_jars, read_catalog
from millstream.local.java import find_java
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


class DebugCheck(Struct, frozen=True):
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
def command(common: CommonOptions, *, fetch: bool) -> int:
    """Check the installation, the project and its target, and test its connections.

    Kafka, the tables' store, the schema registry and the Spark master must answer; what commands start
    themselves is not started. Each check is one line, with a remedy if it fails. Secrets are masked. The exit
    code is 2 if a check fails. A missing Java is only a warning, because only running pipelines needs it.
    """
    checks = [*check_machine(common, fetch=fetch), *check_project(common)]
    if common.style.json:
        print_json({"diagnostics": [], "checks": to_builtins(checks)})
    else:
        shown = [check for check in checks if not common.style.quiet or check.state == "bad"]
        print_result(common.style, text=Text("\n").join(map(format_check, shown)) if shown else None)
    return 2 if any(check.state == "bad" for check in checks) else 0


def format_check(check: DebugCheck) -> Text:
    mark, color = _MARKS[check.state]
    text = Text.assemble(
        (mark, f"bold {color}"), " ", (f"{check.name:<10}", "bold"), " ", clean_text(check.finding)
    )
    for detail in check.details:
        text.append(f"\n{_INDENT}{clean_text(detail)}", "dim")
    return text.append(f"\n{_INDENT}{clean_text(check.remedy)}", color) if check.remedy else text


def check_machine(common: CommonOptions, *, fetch: bool = False) -> Iterator[DebugCheck]:
    yield DebugCheck("millstream", "good", __version__)
    yield DebugCheck(
        "Python", "good", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    yield check_java()
    yield check_jars(common, fetch=fetch)


def check_java() -> DebugCheck:
    try:
        jvm = find_java()
    except MillstreamError as error:
        (diagnostic,) = error.diagnostics
        return DebugCheck("Java", "warning", diagnostic.message.removeprefix("Java: "), diagnostic.help)
    return DebugCheck("Java", "good", f"{jvm.version} at {jvm.program}")


def check_jars(common: CommonOptions, *, fetch: bool) -> DebugCheck:
    """Count the jars of all features; with `fetch`, verify the cached ones and download the others."""
    catalog, folder = read_catalog(), jars_folder()
    if fetch:
        try:
            with jar_progress(common.style) as progress:
                fetch_jars(tuple(catalog), progress, verify=True)
        except MillstreamError as error:
            return DebugCheck("jars", "bad", error.diagnostics[0].message, error.diagnostics[0].help)
    everything, lacking = jars_of(catalog, catalog), missing_jars(catalog)
    if not lacking:
        return DebugCheck("jars", "good", f"all {len(everything)} in {folder}")
    size = sum(jar.size for jar in lacking)
    present = f"{len(everything) - len(lacking)} of {len(everything)} in {folder}"
    later = f"the others ({size_in_words(size)}) are downloaded when needed; --fetch downloads them now"
    return DebugCheck("jars", "good", present, details=(later,))


def check_project(common: CommonOptions) -> Iterator[DebugCheck]:
    try:
        root = root_of(common)
        settings, diagnostics = read_settings(root)
        variables, more = merge_variables(settings.vars, common.vars)
        diagnostics += more
    except MillstreamError as error:
        yield from (
            DebugCheck("project", "bad", diagnostic.message, diagnostic.help)
            for diagnostic in error.diagnostics
        )
        return
    yield DebugCheck("project", "bad" if diagnostics else "good", f"{settings.name} in {root}")
    yield from (_diagnostic_check("project", diagnostic) for diagnostic in diagnostics)
    yield from check_profile(common, root, settings, variables)
    yield check_files(root, settings)
    yield check_cache(root, settings)
    yield check_writes(root, settings)


def check_profile(
    common: CommonOptions, root: Path, settings: Settings, variables: dict[str, Any]
) -> Iterator[DebugCheck]:
    try:
        target, diagnostics = read_target(root, settings, common.target, common.profiles_dir, variables)
    except MillstreamError as error:
        yield from (_diagnostic_check("target", diagnostic) for diagnostic in error.diagnostics)
        return
    bad = any(diagnostic.severity == "error" for diagnostic in diagnostics)
    if not bad:
        details = tuple(f"{key}: {value}" for key, value in flatten_settings(target.settings))
        yield DebugCheck("target", "good", f"{target.name} of profile {target.profile}", details=details)
    for diagnostic in diagnostics:
        yield _diagnostic_check("target", diagnostic, warning=diagnostic.severity == "warning")
    if not bad:
        yield from map(_tried, list_connections(target, root))


def _tried(connection: tuple[str, Attempt]) -> DebugCheck:
    name, attempt = connection
    try:
        return DebugCheck(name, "good", attempt())
    except MillstreamError as error:
        return _diagnostic_check(name, error.diagnostics[0])


def _diagnostic_check(name: str, diagnostic: Diagnostic, *, warning: bool = False) -> DebugCheck:
    text = f"{diagnostic.message} ({diagnostic.location})" if diagnostic.location else diagnostic.message
    return DebugCheck(name, "warning" if warning else "bad", text, diagnostic.help)


def flatten_settings(settings: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings by dotted key; values are masked if their key sounds like a secret.

    Spark's own options already begin with `spark.`, the key that they are below.
    """
    for key, value in settings.items():
        name = str(key) if above and str(key).startswith(above) else f"{above}{key}"
        if isinstance(value, dict):
            yield from flatten_settings(value, f"{name}.")
        else:
            yield name, MASK if is_secret_name(str(key)) else str(value)


def check_files(root: Path, settings: Settings) -> DebugCheck:
    kinds = (
        ("model", settings.model_paths, (".sql",)),
        ("YAML file", settings.model_paths, (".yml", ".yaml")),
        ("macro file", settings.macro_paths, (".sql", ".py")),
        ("seed", settings.seed_paths, (".csv",)),
        ("generator file", settings.seed_paths, (".py",)),
        ("test file", settings.test_paths, (".sql", ".yml", ".yaml", ".py")),
    )
    counts = {noun: sum(1 for _ in find_files(root, folders, suffixes)) for noun, folders, suffixes in kinds}
    text = ", ".join(count_of(number, noun) for noun, number in counts.items())
    if counts["model"] == 0:
        where = ", ".join(f"{folder}/" for folder in settings.model_paths)
        return DebugCheck("files", "bad", text, f"write a model: an .sql file with a SELECT in {where}")
    return DebugCheck("files", "good", text)


def check_cache(root: Path, settings: Settings) -> DebugCheck:
    shown = f"{settings.target_path}/{CACHE}/"
    try:
        size = sum(file.stat().st_size for file in (root / shown).glob("*.msgpack"))
    except OSError as error:
        remedy = "remove it; the next compile recreates it"
        return DebugCheck("cache", "warning", f"{shown}: {os_reason(error)}", remedy)
    return DebugCheck(
        "cache", "good", f"{size_in_words(size)} in {shown}" if size else f"nothing yet in {shown}"
    )


def check_writes(root: Path, settings: Settings) -> DebugCheck:
    """Try to write to the nearest existing folder, because permission bits alone don't decide it."""
    target = root / settings.target_path
    folder = next(path for path in (target, *target.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            return DebugCheck("writes", "good", f"to {settings.target_path}/")
    except OSError as error:
        remedy = "make it writable, or set target-path"
        return DebugCheck("writes", "bad", f"{folder}: {os_reason(error)}", remedy)
