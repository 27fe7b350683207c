"""Removes errors that only follow from others, and would hide the one to fix."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePath

import msgspec

from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.formats.registry import SCHEMA_SUFFIXES
from millstream.project.files import intended_name
from millstream.project.settings import FILE as SETTINGS

# A partly unreadable file may declare what is missing elsewhere.
_MISSING = frozenset(("MS204", "MS117", "MS414"))
_FUNCTIONS = frozenset(("MS405", "MS406", "MS407", "MS117", "MS129", "MS414"))
_FOLLOWING = {".yml": _MISSING, ".yaml": _MISSING, ".py": _FUNCTIONS, ".csv": frozenset(("MS117",))}
_UNREADABLE = frozenset(("MS102", "MS103"))
_MALFORMED = _UNREADABLE | {"MS105", "MS106", "MS107", "MS108", "MS109", "MS110", "MS111"}
_CAUSES = {
    ".yml": _MALFORMED,
    ".yaml": _MALFORMED,
    ".py": _UNREADABLE,
    ".csv": _UNREADABLE | {"MS110", "MS118", "MS119"},
}
_NO_RELATION = frozenset(("MS102", "MS103", "MS109", "MS110", "MS116", "MS119"))
"""Errors of a model or seed that is not loaded."""
_NO_SUCH_RELATION = frozenset(("MS203", "MS117"))
_NO_SCHEMA = frozenset(("MS122", "MS123"))
_OF_SETTINGS = frozenset(("MS112", "MS121", "MS205"))
"""Errors that a project's name, folders' options and variables cause, if they can't be read."""
_NO_COLUMN = frozenset(("MS117", "MS402"))
_SUFFIXES = (".sql", *_FOLLOWING)
_MISSING_RELATION = re.compile(r"'([^']+)' does not exist")
_MISSING_COLUMN = re.compile(r"column '([^']+)' does not exist")


def broken_files(diagnostics: Iterable[Diagnostic]) -> frozenset[str]:
    """Return the YAML, Python and CSV files that could not be read completely."""
    return frozenset(
        diagnostic.location.path
        for diagnostic in diagnostics
        if diagnostic.location and _is_cause(diagnostic, diagnostic.location.path)
    )


def _is_cause(diagnostic: Diagnostic, path: str) -> bool:
    if diagnostic.severity != "error" or path == "profiles.yml":
        return False
    suffix = PurePath(_intended(path)).suffix
    return diagnostic.code in _CAUSES.get(suffix, ()) or (
        suffix == ".py" and diagnostic.code.startswith("MS3")
    )


def _intended(path: str) -> str:
    """Return the path that a file should have that is not read since its name ends in another way."""
    return intended_name(path, _SUFFIXES) or path


def without_followups(
    diagnostics: Iterable[Diagnostic],
    macros: Collection[str] = (),
    calls: Mapping[str, Collection[str]] | None = None,
    lost: Collection[str] = (),
) -> list[Diagnostic]:
    """Remove errors that a broken file elsewhere explains; errors in the broken file itself stay.

    `macros` are the paths of the macro files, and `calls` has those that each model calls, by its path.
    `lost` are the macros of files that could not be run.
    """
    reported = list(diagnostics)
    broken = broken_files(reported)
    wrong = [
        (diagnostic.code, diagnostic.location.path)
        for diagnostic in reported
        if diagnostic.severity == "error" and diagnostic.location
    ]
    hidden = frozenset().union(*(_FOLLOWING[PurePath(_intended(path)).suffix] for path in broken))
    erring_macros = {path for _, path in wrong if path in macros}
    wrong_macros = {path for code, path in wrong if path in macros and code != "MS202"}
    unread_macros = (
        code == "MS102" and path.startswith("macros/") and _intended(path) != path for code, path in wrong
    )
    if wrong_macros or any(unread_macros):
        hidden |= {"MS202"}
    no_settings = any(path == SETTINGS for _, path in wrong)
    if no_settings:
        hidden |= _OF_SETTINGS
    not_loaded = {
        PurePath(_intended(path)).stem
        for code, path in wrong
        if code in _NO_RELATION and _intended(path).endswith((".sql", ".csv"))
    }
    misnamed = [
        PurePath(path).stem.lower()
        for code, path in wrong
        if code == "MS110" and path.endswith((".sql", ".csv"))
    ]
    unread_schemas = {
        PurePath(path).name for code, path in wrong if code in _NO_RELATION and path.endswith(SCHEMA_SUFFIXES)
    }
    no_schema = bool(unread_schemas) or any(code in _NO_SCHEMA for code, _ in wrong)
    missing_columns = {
        name
        for diagnostic in reported
        if diagnostic.code in _NO_COLUMN
        and diagnostic.location
        and diagnostic.location.path.endswith((".yml", ".yaml"))
        for name in _MISSING_COLUMN.findall(diagnostic.message)
    }

    def follows(diagnostic: Diagnostic) -> bool:
        path = diagnostic.location.path if diagnostic.location else ""
        if path in broken or path in wrong_macros or (no_settings and path == SETTINGS):
            return False
        if diagnostic.code in hidden:
            return True
        called = (calls or {}).get(path, ())
        if diagnostic.code == "MS401" and not wrong_macros.isdisjoint(called):
            return True  # what the macro's text leaves open shows where the model's text goes on
        if diagnostic.code == "MS206" and not erring_macros.isdisjoint(called):
            return True  # the macro may have lost the parameter
        if broken and diagnostic.code == "MS203" and "lookup_map" in diagnostic.line:
            return True  # it may be a topic
        if (
            diagnostic.code == "MS202"
            and diagnostic.message.partition("' is undefined")[0].lstrip("'") in lost
        ):
            return True
        if diagnostic.code == "MS402" and any(f"'{name}'" in diagnostic.message for name in missing_columns):
            return not path.endswith((".yml", ".yaml"))
        if diagnostic.code in _NO_SCHEMA and any(
            name in f"{diagnostic.message}\n{diagnostic.line}" for name in unread_schemas
        ):
            return True
        if diagnostic.code == "MS124" and "unknown" in diagnostic.message and no_schema:
            return True
        if (broken or no_settings) and diagnostic.code.startswith("MS5") and diagnostic.severity == "error":
            return True  # planned without the options, keys and columns that could not be read
        if diagnostic.code not in _NO_SUCH_RELATION:
            return False
        # A file such as `orders.old.sql` or `2orders.sql` was `orders.sql` before.
        missing = [name.lower() for name in _MISSING_RELATION.findall(diagnostic.message)]
        return any(f"'{name}'" in diagnostic.message for name in not_loaded) or any(
            name in stem for name in missing for stem in misnamed
        )

    return _once([diagnostic for diagnostic in reported if not follows(diagnostic)], macros)


def _once(diagnostics: list[Diagnostic], macros: Collection[str]) -> list[Diagnostic]:
    """Keep the first of equal errors; one of a macro has the number of the other calls.

    An argument that a macro uses several times, such as in a loop, is wrong once.
    """
    equal: dict[tuple[object, ...], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        origin = diagnostic.location or id(diagnostic)
        equal.setdefault((diagnostic.code, diagnostic.message, origin), []).append(diagnostic)
    return [
        _with_count(same[0], len(same) - 1)
        if same[0].location and same[0].location.path in macros
        else same[0]
        for same in equal.values()
    ]


def _with_count(diagnostic: Diagnostic, others: int) -> Diagnostic:
    if not others:
        return diagnostic
    note = DiagnosticNote(f"and from {others} other {'call' if others == 1 else 'calls'}")
    return msgspec.structs.replace(diagnostic, notes=(*diagnostic.notes, note))
