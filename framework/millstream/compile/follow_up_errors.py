"""Removes errors that only follow from others, and would hide the one to fix."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import Diagnostic

# A partly unreadable file may declare what is missing elsewhere.
_MISSING = frozenset(("MS204", "MS117"))
_FOLLOWING = {".yml": _MISSING, ".yaml": _MISSING, ".py": frozenset(("MS405", "MS406", "MS407"))}
_UNREADABLE = frozenset(("MS102", "MS103"))
_MALFORMED = _UNREADABLE | {"MS105", "MS106", "MS107", "MS108"}
_CAUSES = {".yml": _MALFORMED, ".yaml": _MALFORMED, ".py": _UNREADABLE}


def broken_files(diagnostics: Iterable[Diagnostic]) -> frozenset[str]:
    """Return the YAML and Python files that could not be read completely."""
    return frozenset(
        found.location.path
        for found in diagnostics
        if found.location and _is_cause(found, found.location.path)
    )


def _is_cause(found: Diagnostic, path: str) -> bool:
    if found.severity != "error" or path == "profiles.yml":
        return False
    suffix = path[path.rfind(".") :]
    return found.code in _CAUSES.get(suffix, ()) or (suffix == ".py" and found.code.startswith("MS3"))


def without_followups(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Remove errors that a broken file elsewhere explains; errors in the broken file itself stay."""
    found = list(diagnostics)
    broken = broken_files(found)
    macros = any(
        each.code == "MS201" and each.location and each.location.path.startswith("macros/") for each in found
    )
    hidden = frozenset().union(*(_FOLLOWING[path[path.rfind(".") :]] for path in broken))
    if macros:
        hidden |= {"MS202"}
    return [
        each
        for each in found
        if each.code not in hidden or (each.location is not None and each.location.path in broken)
    ]
