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

from millstream.core.expressions import Expression, Ref, quote_name, render_sql
from millstream.core.node_id import NodeId
from millstream.core.types import has_equality
from millstream.plan.maintained.names import (
    NotDerivedError,
    RelationNames,
    compared_relations,
    opaque_error,
    output_names,
    relations_of,
    renamed_columns,
    resolve_item,
)
from millstream.plan.maintained.outer_joins import (
    HIDDEN,
    has_no_effect,
    is_possible,
    nullable_aliases,
    required_aliases,
)
from millstream.plan.maintained.restricted_sql import is_plain
from millstream.plan.maintained.simplified_sql import simplify_query
from millstream.plan.maintained.statements import LONGEST, SqlText, join_sql, separate_sql
from millstream.plan.maintained.versions import ChangedRows, differing_rows, in_both, with_groups
from millstream.plan.nodes.maintenance import View, touched_column, view_of
from millstream.sql.query import Body, From, OpaqueBody, Scan, Select, SqlUnion
from millstream.sql.trees import window_calls

_MOST_OPTIONAL = 8
"""Relations that outer joins can leave without a match: each can be missing or not, in all combinations."""


class RelaxedColumns(Struct, frozen=True, eq=False):
    """Some columns of a query, for rows before and after the changes."""

    either: SqlText
    changed: tuple[ChangedRows, ...]
    """The same columns of the rows that are computed from a changed row."""


def relax_columns(body: Body, columns: Sequence[str], names: RelationNames) -> RelaxedColumns:
    return names.once("relaxed", body, tuple(columns), lambda: _checked(body, columns, names))


def _checked(body: Body, columns: Sequence[str], names: RelationNames) -> RelaxedColumns:
    """Return columns of a query, unless its SQL is too long: if CTEs read others twice, it doubles."""
    relaxed_rows = _relaxed(body, columns, names)
    if relaxed_rows.either.length + sum(change.sql.length for change in relaxed_rows.changed) > LONGEST:
        raise too_long(body)
    return relaxed_rows


def too_long(body: Body) -> NotDerivedError:
    why = f"the SQL that finds out would be longer than {LONGEST:,} characters"
    return NotDerivedError(why, body.start, body.start + len("select"))


def _relaxed(body: Body, columns: Sequence[str], names: RelationNames) -> RelaxedColumns:
    match body:
        case Select() if body.windows or body.sets or body.subqueries:
            return relax_columns(simplify_query(body, columns, names), columns, names)
        case Select():
            return _of_rows(body, columns, names)
        case SqlUnion():
            return _union(body, columns, names)
        case OpaqueBody():
            raise opaque_error(body)


def _of_rows(query: Select, columns: Sequence[str], names: RelationNames) -> RelaxedColumns:
    try:
        return _select(query, names).relaxed(columns)
    except NotDerivedError as error:
        if not names.compares or not query.keys or not is_plain(query, names):
            raise
        return _of_groups(query, columns, names, error)


def _select(query: Select, names: RelationNames) -> _Select:
    return names.once("select", query, (), lambda: _Select(query, names))


def _of_groups(
    query: Select, columns: Sequence[str], names: RelationNames, unknown: NotDerivedError
) -> RelaxedColumns:
    """Return columns that are only known of whole groups, as these are before and after the changes."""
    named, groups = names.once("groups", query, (), lambda: with_groups(query))
    keys: list[str] = []
    relaxed_rows: RelaxedColumns | None = None
    for group in groups:
        try:
            relaxed_rows = _select(named, names).relaxed([*keys, group])
        except NotDerivedError:
            continue
        keys.append(group)
    if relaxed_rows is None:
        raise unknown
    by = [(name, touched_column(index)) for index, name in enumerate(keys)]
    items = ", ".join(f"{quote_name(name)} as {touched}" for name, touched in by)
    changed = (
        ChangedRows(
            change.relation,
            in_both(named, columns, names, by, join_sql(f"(\nselect {items} from (\n", change.sql, "\n)\n)")),
        )
        for change in relaxed_rows.changed
    )
    return RelaxedColumns(in_both(query, columns, names), tuple(changed))


def _union(body: SqlUnion, columns: Sequence[str], names: RelationNames) -> RelaxedColumns:
    positions = [[column.lower() for column in output_names(body)].index(name.lower()) for name in columns]
    sides = []
    for side in body.sides:
        side_columns = output_names(side)
        relaxed_rows = relax_columns(side, [side_columns[position] for position in positions], names)
        renamed = ", ".join(
            f"{quote_name(side_columns[position])} as {quote_name(name)}"
            for position, name in zip(positions, columns, strict=True)
        )
        sides.append((relaxed_rows, f"select {renamed} from ("))  # noqa: S608 -- names are quoted
    return RelaxedColumns(
        separate_sql(
            "\nunion all\n", (join_sql(select, relaxed_rows.either, ")") for relaxed_rows, select in sides)
        ),
        tuple(
            ChangedRows(change.relation, join_sql(select, change.sql, ")"))
            for relaxed_rows, select in sides
            for change in relaxed_rows.changed
        ),
    )


class _Template(Struct, frozen=True, eq=False):
    """A SELECT, before and after the rows of its anchor, which are changed rows or others."""

    before: SqlText
    after: SqlText | None = None
    """None if the SELECT says itself which rows it reads."""

    def of(self, rows: SqlText) -> SqlText:
        return self.before if self.after is None else join_sql(self.before, rows, self.after)


_ANCHOR = join_sql()
"""Where a template reads the rows of its anchor."""


def _template(parts: Sequence[str | SqlText]) -> _Template:
    index = next((index for index, part in enumerate(parts) if part is _ANCHOR), None)
    if index is None:
        return _Template(join_sql(*parts))
    return _Template(join_sql(*parts[:index]), join_sql(*parts[index + 1 :]))


class _Select:
    def __init__(self, query: Select, names: RelationNames) -> None:
        self.query = query
        self.names = names
        self.by_alias = {relation.alias: relation for relation in query.relations}
        self.nullable = nullable_aliases(query)
        self.always = required_aliases(query)
        self.positions = {relation.alias: index for index, relation in enumerate(query.relations)}
        self._equalities = {
            relation.alias: [
                (one.relation, other.relation)
                for condition in relation.on
                if (pair := compared_relations(condition))
                for one, other in (pair,)
            ]
            for relation in query.relations
        }
        """By relation, which ones its ON compares by `=`."""
        self._availability: dict[int, bool] = {}
        """By the `id` of a condition."""

    def relaxed(self, columns: Sequence[str]) -> RelaxedColumns:
        expressions = [self._key(name) for name in columns]
        read = frozenset(alias for expression in expressions for alias in relations_of(expression))
        optional = sorted(read & self.nullable)
        if len(optional) > _MOST_OPTIONAL:
            why = f"the key reads {len(optional)} relations that outer joins can leave without a match"
            raise NotDerivedError(why, self.query.start, self.query.start + len("select"))
        changed: list[ChangedRows] = []
        room = LONGEST
        for relation in self.query.relations:
            for input_id, rows in self._anchored(relation.alias, columns, expressions, read):
                changed.append(ChangedRows(input_id, rows))
                if (room := room - rows.length) < 0:
                    raise too_long(self.query)
        first = next((relation.alias for relation in self.query.relations if relation.alias in read), None)
        parts = [
            template.before for template in self._templates(first, columns, expressions, read, changed=False)
        ]
        return RelaxedColumns(separate_sql("\nunion all\n", parts), tuple(changed))

    def _key(self, name: str) -> Expression:
        expression = resolve_item(self.query, name)
        start, stop = (
            expression.start or self.query.start,
            expression.stop or self.query.start + len("select"),
        )
        if window_calls(expression):
            raise NotDerivedError(f"'{name}' is a window of time", start, stop)
        if not has_equality(expression.type):
            raise NotDerivedError(f"values of type {expression.type} can't be compared", start, stop)
        return expression

    def _anchored(
        self, alias: str, columns: Sequence[str], expressions: Sequence[Expression], read: frozenset[str]
    ) -> Iterator[tuple[NodeId, SqlText]]:
        """Yield the keys of rows that are computed from changed rows of one relation."""
        relation = self.by_alias[alias]
        body = self.names.body(relation)
        templates = partial(self._templates, alias, columns, expressions, read, changed=True)
        if body is None:
            assert isinstance(relation.input, Scan)
            input_id = relation.input.relation
            if input_id.kind != "seed":
                for template in templates():
                    yield input_id, template.before
            return
        if self._concerns_all(relation):
            rows: Iterable[ChangedRows] = differing_rows(body, self.names)
        else:
            # A query in FROM is read for what its own changed rows contribute.
            needed = [self.names.source(relation, name) for name in self._read_columns(alias, expressions)]
            rows = relax_columns(body, needed, self.names).changed
        selects = list(templates())
        for change in rows:
            for template in selects:
                yield change.relation, template.of(change.sql)

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
            anchor = next((alias for alias in self.positions if alias in targets), None)
        items = ", ".join(
            f"{self._rendered(expression, missing)} as {quote_name(name)}"
            for name, expression in zip(columns, expressions, strict=True)
        )
        if anchor is None:
            return _Template(join_sql(f"select {items}"))
        order = self._linked(anchor, targets, missing)
        conditions = [
            condition for condition in self._conditions(frozenset(order)) if relations_of(condition)
        ]
        parts: list[str | SqlText] = [f"select distinct {items}"]
        done, placed = set[str](), set[int]()
        for alias in order:
            done.add(alias)
            ready = [
                c for c in conditions if id(c) not in placed and relations_of(c) <= done and alias != order[0]
            ]
            placed.update(map(id, ready))
            on = " and ".join(f"({render_sql(c)})" for c in ready)
            join = "from" if alias == order[0] else "join" if on else "cross join"
            parts += [f"\n{join} ", *self._relation(alias, expressions, changed=changed and alias == anchor)]
            if on:
                parts.append(f" on {on}")
        rest = [c for c in conditions if id(c) not in placed]
        if rest:
            parts.append("\nwhere " + " and ".join(f"({render_sql(c)})" for c in rest))
        return _template(parts)

    def _rendered(self, expression: Expression, missing: frozenset[str]) -> str:
        def ref(column_ref: Ref) -> str:
            if column_ref.relation in missing:
                type_ = self.names.type(self.by_alias[column_ref.relation], column_ref.column)
                return f"cast(null as {type_})"
            return f"{quote_name(column_ref.relation)}.{quote_name(column_ref.column)}"

        return render_sql(expression, ref)

    # -- which relations, and by which conditions

    def _conditions(self, present: frozenset[str]) -> list[Expression]:
        """Return the conditions that hold for rows in which these relations have a match.

        A condition that is left out only adds rows.
        """
        conditions: list[Expression] = []
        for relation in self.query.relations:
            if relation.alias in present and (
                relation.join not in {"right", "full"} or self._follows(relation.alias, present)
            ):
                conditions += [
                    c
                    for c in relation.on
                    if relations_of(c) <= present
                    and (compared_relations(c) or not (relations_of(c) - {relation.alias}) & self.nullable)
                    and self._available(c)
                ]
        conditions += [
            c
            for c in self.query.where
            if relations_of(c) <= present and not relations_of(c) & self.nullable and self._available(c)
        ]
        return conditions

    def _follows(self, alias: str, present: Collection[str]) -> bool:
        return any(self.positions[other] < self.positions[alias] for other in present)

    def _available(self, condition: Expression) -> bool:
        """Return whether the columns of a condition exist before aggregates are computed."""
        condition_id = id(condition)
        if condition_id not in self._availability:
            exist = condition.deterministic and all(self._exists(ref) for ref in condition.refs)
            self._availability[condition_id] = exist
        return self._availability[condition_id]

    def _exists(self, ref: Ref) -> bool:
        if not ref.relation:
            return False
        relation = self.by_alias[ref.relation]
        body = self.names.body(relation)
        if body is None:
            return True
        try:
            relax_columns(body, [self.names.source(relation, ref.column)], self.names)
        except NotDerivedError:
            return False
        return True

    def _linked(self, anchor: str, targets: frozenset[str], missing: frozenset[str]) -> list[str]:
        """Return the relations that connect the anchor with the others, each after one that it joins."""
        if self._concerns_all(self.by_alias[anchor]) and targets:
            first = min(targets, key=self.positions.__getitem__)
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
        for target in sorted(targets, key=self.positions.__getitem__):
            if target not in reached:
                relation = self.by_alias[target]
                why = "this join has no comparison by = that connects each change with the key"
                raise NotDerivedError(why, relation.start, relation.stop)
            path: list[str] = []
            current: str | None = target
            while current is not None and current not in order:
                path.append(current)
                current = reached[current]
            order += reversed(path)
        return order

    def _concerns_all(self, relation: From) -> bool:
        """Return whether a relation decides about all rows alike: a subquery without a comparison."""
        return self.names.compares and relation.join in HIDDEN and not relation.on

    def _present(self, anchor: str, targets: frozenset[str], missing: frozenset[str]) -> frozenset[str]:
        """Return the relations that a row certainly has if it has the anchor and the targets.

        If the anchor itself is missing, its change has removed the match: the row had all of them before.
        """
        removed = anchor in missing
        kinds = {"inner", "left", "semi", "anti"} | ({"right", "full"} if removed else set())
        present = set(targets | {anchor} | self.always)
        pending = [*present]
        while pending:
            relation = self.by_alias[pending.pop()]
            if relation.join not in kinds:
                continue
            compared = {alias for pair in self._equalities[relation.alias] for alias in pair}
            more = compared - present - (frozenset() if removed else missing)
            present |= more
            pending += more
        return frozenset(present)

    # -- what is read

    def _read_columns(self, alias: str, expressions: Iterable[Expression]) -> list[str]:
        """Return the columns of a relation that keys or conditions read, one of them if none are."""
        relation = self.by_alias[alias]
        conditions = [c for joined in self.query.relations for c in joined.on] + list(self.query.where)
        refs = [ref for expression in expressions for ref in expression.refs if ref.relation == alias]
        refs += [ref for c in conditions if self._available(c) for ref in c.refs if ref.relation == alias]
        column_names = {ref.column.lower() for ref in refs}
        columns = [name for name in relation.columns if name.lower() in column_names]
        if columns:
            return columns
        for name in relation.columns:
            if self._exists(Ref(name, alias)):
                return [name]
        raise NotDerivedError(
            "no column of this query is known before its aggregate", relation.start, relation.stop
        )

    def _relation(
        self, alias: str, expressions: Iterable[Expression], *, changed: bool
    ) -> tuple[str | SqlText, ...]:
        """Return a relation of FROM: changed rows, for which an anchor is read, or those before and after."""
        relation = self.by_alias[alias]
        body = self.names.body(relation)
        if body is None:
            return (self._scan(relation, "changed" if changed else "either"),)
        if self._concerns_all(relation):
            return "(\n", _ANCHOR, f"\n) as {quote_name(alias)}"
        needed = self._read_columns(alias, expressions)
        sources = [self.names.source(relation, name) for name in needed]
        rows = _ANCHOR if changed else relax_columns(body, sources, self.names).either
        renamed = ", ".join(
            f"{quote_name(s)} as {quote_name(n)}" for s, n in zip(sources, needed, strict=True)
        )
        return f"(select {renamed} from (", rows, f")) as {quote_name(alias)}"  # noqa: S608 -- names are quoted

    def _scan(self, relation: From, kind: View) -> str:
        assert isinstance(relation.input, Scan)
        view = view_of(kind, self.names.relations[relation.input.relation].index)
        return f"(select {renamed_columns(relation, self.names)} from {view}) as {quote_name(relation.alias)}"  # noqa: S608 -- names are quoted
