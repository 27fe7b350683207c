"""The keys that changes of the inputs can touch.

A row of the result is computed from rows of the inputs. It can only appear, change or disappear if one of
these was added, changed or removed. So the SQL is evaluated for its keys alone, once for each place where it
reads an input, with only the changed rows there, and with all others before or after the changes elsewhere.
What only removes rows, such as HAVING, is left out where it can't be evaluated: that touches more keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations

from msgspec import Struct

from millstream.expressions import Expression, Ref, quoted, render, windows
from millstream.plan.maintained.names import (
    Names,
    NotDerivedError,
    equality,
    opaque,
    outputs,
    relations_of,
    renamed_columns,
    resolved,
)
from millstream.plan.maintained.outer import HIDDEN, always, has_no_effect, is_possible, nullable
from millstream.plan.maintained.restricted import is_plain
from millstream.plan.maintained.simplified import simplified
from millstream.plan.maintained.statements import LONGEST, Sql, separated, sql
from millstream.plan.maintained.versions import Changed, differing, in_both, with_groups
from millstream.plan.nodes.maintenance import View, touched_column, view_of
from millstream.sql.query import Body, From, OpaqueBody, Scan, Select, Union
from millstream.types import has_equality

_MOST_OPTIONAL = 8
"""Relations that outer joins can leave without a match: each can be missing or not, in all combinations."""


class Relaxed(Struct, frozen=True, eq=False):
    """Some columns of a query, for rows before and after the changes."""

    either: Sql
    changed: tuple[Changed, ...]
    """The same columns of the rows that are computed from a changed row."""


def relaxed(body: Body, columns: Sequence[str], names: Names) -> Relaxed:
    return names.once("relaxed", body, tuple(columns), lambda: _checked(body, columns, names))


def _checked(body: Body, columns: Sequence[str], names: Names) -> Relaxed:
    """Return columns of a query, unless its SQL is too long: if CTEs read others twice, it doubles."""
    found = _relaxed(body, columns, names)
    if found.either.length + sum(each.sql.length for each in found.changed) > LONGEST:
        raise too_long(body)
    return found


def too_long(body: Body) -> NotDerivedError:
    why = f"the SQL that finds out would be longer than {LONGEST:,} characters"
    return NotDerivedError(why, body.start, body.start + len("select"))


def _relaxed(body: Body, columns: Sequence[str], names: Names) -> Relaxed:
    match body:
        case Select() if body.windows or body.sets or body.subqueries:
            return relaxed(simplified(body, columns, names), columns, names)
        case Select():
            return _of_rows(body, columns, names)
        case Union():
            return _union(body, columns, names)
        case OpaqueBody():
            raise opaque(body)


def _of_rows(query: Select, columns: Sequence[str], names: Names) -> Relaxed:
    try:
        return _select(query, names).relaxed(columns)
    except NotDerivedError as error:
        if not names.compares or not query.keys or not is_plain(query, names):
            raise
        return _of_groups(query, columns, names, error)


def _select(query: Select, names: Names) -> _Select:
    return names.once("select", query, (), lambda: _Select(query, names))


def _of_groups(query: Select, columns: Sequence[str], names: Names, unknown: NotDerivedError) -> Relaxed:
    """Return columns that are only known of whole groups, as these are before and after the changes."""
    named, groups = names.once("groups", query, (), lambda: with_groups(query))
    known: list[str] = []
    found: Relaxed | None = None
    for each in groups:
        try:
            found = _select(named, names).relaxed([*known, each])
        except NotDerivedError:
            continue
        known.append(each)
    if found is None:
        raise unknown
    by = [(name, touched_column(index)) for index, name in enumerate(known)]
    items = ", ".join(f"{quoted(name)} as {touched}" for name, touched in by)
    changed = (
        Changed(
            each.relation,
            in_both(named, columns, names, by, sql(f"(\nselect {items} from (\n", each.sql, "\n)\n)")),
        )
        for each in found.changed
    )
    return Relaxed(in_both(query, columns, names), tuple(changed))


def _union(body: Union, columns: Sequence[str], names: Names) -> Relaxed:
    positions = [[each.lower() for each in outputs(body)].index(name.lower()) for name in columns]
    sides = []
    for side in body.sides:
        own = outputs(side)
        found = relaxed(side, [own[position] for position in positions], names)
        renamed = ", ".join(
            f"{quoted(own[position])} as {quoted(name)}"
            for position, name in zip(positions, columns, strict=True)
        )
        sides.append((found, f"select {renamed} from ("))  # noqa: S608 -- names are quoted
    return Relaxed(
        separated("\nunion all\n", (sql(select, found.either, ")") for found, select in sides)),
        tuple(
            Changed(each.relation, sql(select, each.sql, ")"))
            for found, select in sides
            for each in found.changed
        ),
    )


class _Template(Struct, frozen=True, eq=False):
    """A SELECT, before and after the rows of its anchor, which are changed rows or others."""

    before: Sql
    after: Sql | None = None
    """None if the SELECT says itself which rows it reads."""

    def of(self, rows: Sql) -> Sql:
        return self.before if self.after is None else sql(self.before, rows, self.after)


_ANCHOR = sql()
"""Where a template reads the rows of its anchor."""


def _template(parts: Sequence[str | Sql]) -> _Template:
    index = next((index for index, part in enumerate(parts) if part is _ANCHOR), None)
    if index is None:
        return _Template(sql(*parts))
    return _Template(sql(*parts[:index]), sql(*parts[index + 1 :]))


class _Select:
    def __init__(self, query: Select, names: Names) -> None:
        self.query = query
        self.names = names
        self.by_alias = {each.alias: each for each in query.relations}
        self.nullable = nullable(query)
        self.always = always(query)
        self.place = {each.alias: index for index, each in enumerate(query.relations)}
        self._equalities = {
            each.alias: [
                (one.relation, other.relation)
                for condition in each.on
                if (pair := equality(condition))
                for one, other in (pair,)
            ]
            for each in query.relations
        }
        """By relation, which ones its ON compares by `=`."""
        self._availability: dict[int, bool] = {}
        """By the `id` of a condition."""

    def relaxed(self, columns: Sequence[str]) -> Relaxed:
        expressions = [self._key(name) for name in columns]
        read = frozenset(alias for each in expressions for alias in relations_of(each))
        optional = sorted(read & self.nullable)
        if len(optional) > _MOST_OPTIONAL:
            why = f"the key reads {len(optional)} relations that outer joins can leave without a match"
            raise NotDerivedError(why, self.query.start, self.query.start + len("select"))
        changed: list[Changed] = []
        room = LONGEST
        for each in self.query.relations:
            for relation, rows in self._anchored(each.alias, columns, expressions, read):
                changed.append(Changed(relation, rows))
                if (room := room - rows.length) < 0:
                    raise too_long(self.query)
        first = next((each.alias for each in self.query.relations if each.alias in read), None)
        parts = [each.before for each in self._templates(first, columns, expressions, read, changed=False)]
        return Relaxed(separated("\nunion all\n", parts), tuple(changed))

    def _key(self, name: str) -> Expression:
        found = resolved(self.query, name)
        start, stop = found.start or self.query.start, found.stop or self.query.start + len("select")
        if windows(found):
            raise NotDerivedError(f"'{name}' is a window of time", start, stop)
        if not has_equality(found.type):
            raise NotDerivedError(f"values of type {found.type} can't be compared", start, stop)
        return found

    def _anchored(
        self, alias: str, columns: Sequence[str], expressions: Sequence[Expression], read: frozenset[str]
    ) -> Iterator[tuple[str, Sql]]:
        """Yield the keys of rows that are computed from changed rows of one relation."""
        given = self.by_alias[alias]
        body = self.names.body(given)
        templates = partial(self._templates, alias, columns, expressions, read, changed=True)
        if body is None:
            assert isinstance(given.input, Scan)
            relation = given.input.relation
            if not relation.startswith("seed."):
                for template in templates():
                    yield relation, template.before
            return
        if self._concerns_all(given):
            rows: Iterable[Changed] = differing(body, self.names)
        else:
            # A query in FROM is read for what its own changed rows contribute.
            needed = [self.names.source(given, name) for name in self._read_columns(alias, expressions)]
            rows = relaxed(body, needed, self.names).changed
        found = list(templates())
        for each in rows:
            for template in found:
                yield each.relation, template.of(each.sql)

    def _templates(
        self,
        anchor: str | None,
        columns: Sequence[str],
        expressions: Sequence[Expression],
        read: frozenset[str],
        *,
        changed: bool,
    ) -> Iterator[_Template]:
        """Yield a SELECT for each set of relations that outer joins can leave without a match."""
        optional = sorted(read & self.nullable)
        for size in range(len(optional) + 1):
            for missing in map(frozenset, combinations(optional, size)):
                if not is_possible(self.query, read - missing, missing):
                    continue  # no such row exists
                if anchor is not None and has_no_effect(self.query, anchor, missing):
                    continue
                yield self._select(anchor, columns, expressions, read, missing, changed=changed)

    def _select(
        self,
        anchor: str | None,
        columns: Sequence[str],
        expressions: Sequence[Expression],
        read: frozenset[str],
        missing: frozenset[str],
        *,
        changed: bool,
    ) -> _Template:
        targets = read - missing
        if not changed and anchor in missing:
            anchor = next((alias for alias in self.place if alias in targets), None)
        items = ", ".join(
            f"{self._rendered(each, missing)} as {quoted(name)}"
            for name, each in zip(columns, expressions, strict=True)
        )
        if anchor is None:
            return _Template(sql(f"select {items}"))
        order = self._linked(anchor, targets, missing)
        conditions = [each for each in self._conditions(frozenset(order)) if relations_of(each)]
        parts: list[str | Sql] = [f"select distinct {items}"]
        done, placed = set[str](), set[int]()
        for alias in order:
            done.add(alias)
            ready = [
                c for c in conditions if id(c) not in placed and relations_of(c) <= done and alias != order[0]
            ]
            placed.update(map(id, ready))
            on = " and ".join(f"({render(c)})" for c in ready)
            join = "from" if alias == order[0] else "join" if on else "cross join"
            parts += [f"\n{join} ", *self._relation(alias, expressions, changed=changed and alias == anchor)]
            if on:
                parts.append(f" on {on}")
        rest = [c for c in conditions if id(c) not in placed]
        if rest:
            parts.append("\nwhere " + " and ".join(f"({render(c)})" for c in rest))
        return _template(parts)

    def _rendered(self, expression: Expression, missing: frozenset[str]) -> str:
        def ref(each: Ref) -> str:
            if each.relation in missing:
                found = self.names.type(self.by_alias[each.relation], each.column)
                return f"cast(null as {found})"
            return f"{quoted(each.relation)}.{quoted(each.column)}"

        return render(expression, ref)

    # -- which relations, and by which conditions

    def _conditions(self, present: frozenset[str]) -> list[Expression]:
        """Return the conditions that hold for rows in which these relations have a match.

        A condition that is left out only adds rows.
        """
        found: list[Expression] = []
        for each in self.query.relations:
            if each.alias in present and (
                each.join not in {"right", "full"} or self._follows(each.alias, present)
            ):
                found += [
                    c
                    for c in each.on
                    if relations_of(c) <= present
                    and (equality(c) or not (relations_of(c) - {each.alias}) & self.nullable)
                    and self._available(c)
                ]
        found += [
            c
            for c in self.query.where
            if relations_of(c) <= present and not relations_of(c) & self.nullable and self._available(c)
        ]
        return found

    def _follows(self, alias: str, present: Collection[str]) -> bool:
        return any(self.place[each] < self.place[alias] for each in present)

    def _available(self, condition: Expression) -> bool:
        """Return whether the columns of a condition exist before aggregates are computed."""
        place = id(condition)
        if place not in self._availability:
            exist = condition.deterministic and all(self._exists(ref) for ref in condition.refs)
            self._availability[place] = exist
        return self._availability[place]

    def _exists(self, ref: Ref) -> bool:
        if not ref.relation:
            return False
        given = self.by_alias[ref.relation]
        body = self.names.body(given)
        if body is None:
            return True
        try:
            relaxed(body, [self.names.source(given, ref.column)], self.names)
        except NotDerivedError:
            return False
        return True

    def _linked(self, anchor: str, targets: frozenset[str], missing: frozenset[str]) -> list[str]:
        """Return the relations that connect the anchor with the others, each after one that it joins."""
        if self._concerns_all(self.by_alias[anchor]) and targets:
            first = min(targets, key=self.place.__getitem__)
            return [anchor, *self._linked(first, targets, missing)]
        present = self._present(anchor, targets, missing)
        edges = [relations_of(c) for c in self._conditions(present) if len(relations_of(c)) > 1]
        reached: dict[str, str | None] = {anchor: None}
        waiting = [anchor]
        while waiting:
            here = waiting.pop(0)
            for edge in edges:
                if here in edge and len(edge) == 2:
                    for other in edge - {here}:
                        if other not in reached:
                            reached[other] = here
                            waiting.append(other)
        order: list[str] = [anchor]
        for target in sorted(targets, key=self.place.__getitem__):
            if target not in reached:
                given = self.by_alias[target]
                why = "this join has no comparison by = that connects each change with the key"
                raise NotDerivedError(why, given.start, given.stop)
            path: list[str] = []
            at: str | None = target
            while at is not None and at not in order:
                path.append(at)
                at = reached[at]
            order += reversed(path)
        return order

    def _concerns_all(self, given: From) -> bool:
        """Return whether a relation decides about all rows alike: a subquery without a comparison."""
        return self.names.compares and given.join in HIDDEN and not given.on

    def _present(self, anchor: str, targets: frozenset[str], missing: frozenset[str]) -> frozenset[str]:
        """Return the relations that a row certainly has if it has the anchor and the targets.

        If the anchor itself is missing, its change has removed the match: the row had all of them before.
        """
        removed = anchor in missing
        kinds = {"inner", "left", "semi", "anti"} | ({"right", "full"} if removed else set())
        present = set(targets | {anchor} | self.always)
        pending = [*present]
        while pending:
            given = self.by_alias[pending.pop()]
            if given.join not in kinds:
                continue
            compared = {alias for pair in self._equalities[given.alias] for alias in pair}
            more = compared - present - (frozenset() if removed else missing)
            present |= more
            pending += more
        return frozenset(present)

    # -- what is read

    def _read_columns(self, alias: str, expressions: Iterable[Expression]) -> list[str]:
        """Return the columns of a relation that keys or conditions read, one of them if none are."""
        given = self.by_alias[alias]
        conditions = [c for each in self.query.relations for c in each.on] + list(self.query.where)
        refs = [ref for each in expressions for ref in each.refs if ref.relation == alias]
        refs += [ref for c in conditions if self._available(c) for ref in c.refs if ref.relation == alias]
        wanted = {ref.column.lower() for ref in refs}
        found = [name for name in given.columns if name.lower() in wanted]
        if found:
            return found
        for name in given.columns:
            if self._exists(Ref(name, alias)):
                return [name]
        raise NotDerivedError(
            "no column of this query is known before its aggregate", given.start, given.stop
        )

    def _relation(
        self, alias: str, expressions: Iterable[Expression], *, changed: bool
    ) -> tuple[str | Sql, ...]:
        """Return a relation of FROM: changed rows, for which an anchor is read, or those before and after."""
        given = self.by_alias[alias]
        body = self.names.body(given)
        if body is None:
            return (self._scan(given, "changed" if changed else "either"),)
        if self._concerns_all(given):
            return "(\n", _ANCHOR, f"\n) as {quoted(alias)}"
        needed = self._read_columns(alias, expressions)
        sources = [self.names.source(given, name) for name in needed]
        rows = _ANCHOR if changed else relaxed(body, sources, self.names).either
        renamed = ", ".join(f"{quoted(s)} as {quoted(n)}" for s, n in zip(sources, needed, strict=True))
        return f"(select {renamed} from (", rows, f")) as {quoted(alias)}"  # noqa: S608 -- names are quoted

    def _scan(self, given: From, kind: View) -> str:
        assert isinstance(given.input, Scan)
        view = view_of(kind, self.names.relations[given.input.relation].index)
        return f"(select {renamed_columns(given, self.names)} from {view}) as {quoted(given.alias)}"  # noqa: S608 -- names are quoted
