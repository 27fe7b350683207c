"""Describes how what rows depend on differs between two versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from millstream.queries.differences import is_digest, quote_sql, simplify_sql
from millstream.queries.values import Dependency

_Named = Mapping[tuple[str, str], Dependency]


def describe_changes(was: Iterable[Dependency], now: Iterable[Dependency]) -> Iterator[str]:
    """Yield each change. SQL that begins or ceases to read something changes by itself; tests are not SQL."""
    before, after = _by_name(was), _by_name(now)
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        kinds = {dependency.kind for dependency in (old, new) if dependency is not None}
        if "bad" in kinds:
            yield from _bad(key[1], before, after)
        elif old is not None and new is not None:
            if old.content != new.content and kinds != {"stop"}:
                yield _changed(old, new)
        elif "test" in kinds:
            yield f"the test {key[1]} {'no longer keeps rows out' if new is None else 'keeps rows out'}"


def _bad(name: str, before: _Named, after: _Named) -> Iterator[str]:
    source, _, column = name.rpartition(".")
    was, now = (("bad", f"{source}.") in dependencies for dependencies in (before, after))
    if was and now and column and (("bad", name) in before) != (("bad", name) in after):
        which = f"the key of {source}" if column == "_key" else name
        yield f"wrong values of {which} {'make' if ('bad', name) in after else 'no longer make'} records bad"
    elif now and not was and not column:
        yield f"bad records of {source} are those with wrong values that this model reads, not any model"


def _by_name(dependencies: Iterable[Dependency]) -> dict[tuple[str, str], Dependency]:
    """Return dependencies by what they are of: whether a test drops wrong rows or stops, none is stored."""
    return {
        ("test" if dependency.kind == "stop" else dependency.kind, dependency.name): dependency
        for dependency in dependencies
    }


def _changed(old: Dependency, new: Dependency) -> str:
    match new.kind:
        case "type" | "reading":
            what = f"the {new.name}" if new.kind == "reading" else new.name
            return f"{what} is {new.content} instead of {old.content}"
        case "schema":
            return f"the {new.name} changed"
        case "seed":
            return f"the rows of seed {new.name} changed"
        case "reference":
            return f"the records of {new.name} are read in another way"
        case "calculation":
            before, after = quote_sql(simplify_sql(old.content)), quote_sql(simplify_sql(new.content))
            if before == after or is_digest(old.content + new.content):
                return f"{new.name} is calculated in another way"
            return f"{new.name} is calculated as {after} instead of {before}"
        case "table":
            return f"the SQL of table {new.name} changed"
        case "test" | "stop":
            return f"the test {new.name} keeps other rows out"
        case "library" | "bad":
            return f"{new.name} is version {new.content} instead of {old.content}"
