"""Random projects of 3 to 12 models, from all operators and materializations; one number gives one project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from streaming.oracle import kind_of
from streaming.records import START
from streaming.shapes import (
    SECOND,
    Distinct,
    Explode,
    Expr,
    Group,
    Items,
    Join,
    Lookup,
    Model,
    Project,
    Seed,
    Select,
    Source,
    Union,
    Window,
)

SOURCES = (
    Source("events", {"id": "i", "user": "s", "kind": "s", "amount": "i", "at": "t"}, "user", "at", 10),
    Source("hits", {"id": "i", "visitor": "s", "path": "s", "n": "i", "seen": "t"}, "visitor", "seen", 30),
    Source("users", {"name": "s", "segment": "s", "level": "i"}, "name", table=True),
)
SEEDS = (
    Seed(
        "products",
        {"product": "s", "category": "s", "price": "i"},
        (("a", "books", 5), ("b", "toys", 7), ("ab", "books", 9)),
    ),
)


@dataclass(frozen=True)
class Relation:
    """What a model can read."""

    name: str
    columns: dict[str, str]
    kind: str
    times: dict[str, int]
    """Columns with a watermark, and their delays in seconds."""
    keys: tuple[str, ...] = ()
    """Of rows that change."""
    changing: bool = False
    unique: str = ""
    """A column by which rows can be ordered: equal ones are equal as a whole."""
    closed: tuple[str, ...] = ()
    """The start of closed windows, and their end."""
    states: int = 0
    """Kept between this and the topic that is read."""


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"project {seed}")
        self.relations = [
            Relation(s.name, s.columns, "source", {s.time: s.delay}, unique="id")
            for s in SOURCES
            if not s.table
        ]
        self.at_rest = [
            Relation("users", SOURCES[2].columns, "source", {}, ("name",)),
            Relation("products", SEEDS[0].columns, "seed", {}, ("product",)),
        ]
        self.models: list[Model] = []

    def project(self) -> Project:
        count = self.random.choice([3, 3, 4, 4, 5, 5, 6, 7, 8, 10, 12])
        tries = 0
        while len(self.models) < count and tries < 200:
            tries += 1
            self._model(f"m{len(self.models)}")
        if all(model.kind == "view" for model in self.models):
            self._stored_copy()
        return Project(SOURCES, SEEDS, tuple(self.models))

    # -- choices

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _any(self, *, changing: bool = False, condition=lambda _: True) -> Relation | None:
        candidates = [r for r in self.relations if (changing or not r.changing) and condition(r)]
        if not candidates:
            return None
        recent = [r for r in candidates if r.kind != "source"]
        return self.random.choice(recent if recent and self._chance(0.6) else candidates)

    def _one(self, columns: dict[str, str], kind: str) -> str:
        return self.random.choice([n for n, k in columns.items() if k == kind] or [""])

    def _condition(self, columns: dict[str, str]) -> Expr | None:
        kind = self.random.choice("ssit")
        name = self._one(columns, kind)
        if not name:
            return None
        column: Expr = ("col", name)
        choices: list[Expr]
        match kind:
            case "s":
                choices = [("=", column, ("lit", "a")), ("<>", column, ("lit", "b")), ("in", column, "a", "c", "dada"),
                           ("known", column), ("=", ("first", column), ("lit", "a"))]  # fmt: skip
            case "i":
                choices = [(">", column, ("lit", 1)), ("<>", column, ("lit", 2)), ("null?", column),
                           ("=", ("%", column, ("lit", 2)), ("lit", 0))]  # fmt: skip
            case _:
                choices = [(">=", column, ("time", START + 30 * SECOND)), ("known", column)]
        condition = self.random.choice(choices)
        if self._chance(0.15) and (other := self._condition(columns)):
            return (self.random.choice(["and", "or"]), condition, other)
        return condition

    def _maybe(self, columns: dict[str, str], share: float = 0.35) -> Expr | None:
        return self._condition(columns) if self._chance(share) else None

    def _value(self, columns: dict[str, str]) -> Expr | None:
        kind = self.random.choice("ssiiit")
        name = self._one(columns, kind)
        if not name:
            return None
        column: Expr = ("col", name)
        other: Expr = ("col", self._one(columns, "s")) if self._one(columns, "s") else ("lit", "x")
        match kind:
            case "s":
                return self.random.choice([("upper", column), ("coalesce", column, ("lit", "none")), ("first", column),
                    ("joined", column, other), ("if", ("=", column, ("lit", "a")), ("lit", "first"), other)])  # fmt: skip
            case "i":
                return self.random.choice([("coalesce", column, ("lit", 0)), ("+", column, ("lit", 1)), ("doubled", column),
                                           ("length", other)])  # fmt: skip
            case _:
                return self.random.choice([("minute", column), ("later", column, 5)])

    # -- models

    def _model(self, name: str) -> None:
        makers = {
            self._select: 5, self._windows: 6, self._sessions: 1.5, self._group: 2, self._above_closed: 4,
            self._distinct: 1, self._dedupe: 2, self._lookup: 3, self._explode: 1, self._union: 1.5, self._join: 2.5,
        }  # fmt: skip
        pair = self.random.choices(list(makers), list(makers.values()))[0](name)
        if pair is None:
            return
        model, relation = pair
        model, relation = self._stored(model, relation)
        self.models.append(model)
        self.relations.append(relation)
        if model.kind == "table" and len(model.key) == 1 and relation.columns[model.key[0]] == "s":
            self.at_rest.append(replace(relation, keys=model.key))

    def _stored(self, model: Model, relation: Relation) -> tuple[Model, Relation]:
        kind = self.random.choice(["view", "view", "sink", "sink", "table"])
        if kind == "view":
            return model, relation
        test = None
        if not relation.changing and self._chance(0.2) and (condition := self._condition(relation.columns)):
            test = (condition, self.random.choice(["drop", "dead_letter"]))
        if "w" in relation.columns.values() and kind == "table":
            return model, relation
        if kind == "sink":
            keys = relation.keys
            if not relation.changing and self._chance(0.4):
                keys = (self._one(relation.columns, "s"),) if self._one(relation.columns, "s") else ()
            model = replace(model, kind="sink", key=keys, test=test)
            return model, replace(relation, kind="sink", states=0)
        if relation.changing:
            model = replace(model, kind="table", key=relation.keys)
            return model, replace(relation, kind="table", times={}, states=0, closed=())
        if relation.unique:
            key = self._one(relation.columns, "s")
            if not key:
                return model, relation
            keys, order = (key,), relation.unique
        else:
            keys, order = tuple(relation.columns), ""
        model = replace(model, kind="table", key=keys, order_by=order, test=test)
        changed = replace(
            relation, kind="table", changing=True, keys=keys, times={}, states=0, closed=(), unique=""
        )
        return model, changed

    def _stored_copy(self) -> None:
        relation = self.random.choice([r for r in self.relations if r.kind == "view"])
        items = tuple((name, ("col", name)) for name in relation.columns)
        self.models.append(Model(f"m{len(self.models)}", "sink", Select(relation.name, items), relation.keys))

    def _view(self, name: str, body, columns: dict[str, str], of: Relation, **more) -> tuple[Model, Relation]:
        times = {n: d for n, d in of.times.items() if columns.get(n) == "t"}
        options = {key: more.pop(key) for key in ("emit", "dedupe") if key in more}
        inherited = {"times": times, "changing": of.changing, "keys": of.keys, "states": of.states}
        return Model(name, "view", body, **options), Relation(name, columns, "view", **{**inherited, **more})

    def _select(self, name: str):
        of = self._any(changing=True)
        items: list[tuple[str, Expr]] = [(key, ("col", key)) for key in of.keys] if of.changing else []
        for column in of.columns:
            if column not in dict(items) and self._chance(0.85):
                items.append((column, ("col", column)))
        for index in range(self.random.randint(0, 2)):
            value = self._value(of.columns)
            alias = f"x{index}_{name}"
            if value is not None:
                items.append((alias, value))
        if not items:
            return None
        columns = {alias: kind_of(e, of.columns) for alias, e in items}
        closed = of.closed if set(of.closed) <= set(columns) else ()
        unique = of.unique if of.unique in columns else ""
        body = Select(of.name, tuple(items), self._maybe(of.columns))
        return self._view(name, body, columns, of, closed=closed, unique=unique)

    def _measures(self, columns: dict[str, str]) -> tuple[tuple[str, str, Expr | None], ...]:
        measures: list[tuple[str, str, Expr | None]] = [("n0", "count", None)] if self._chance(0.7) else []
        for index in range(self.random.randint(0 if measures else 1, 2)):
            kind = self.random.choice("iiist")
            column = self._one(columns, kind)
            if not column:
                continue
            functions = ["min", "max", "count"] + (["sum", "sum"] if kind == "i" else [])
            argument: Expr = (
                ("doubled", ("col", column)) if kind == "i" and self._chance(0.1) else ("col", column)
            )
            measures.append((f"a{index}", self.random.choice(functions), argument))
        return tuple(measures) or (("n0", "count", None),)

    def _keys(self, columns: dict[str, str], least: int) -> Items:
        texts = [n for n, kind in columns.items() if kind == "s"]
        chosen = self.random.sample(texts, min(len(texts), self.random.randint(least, 2)))
        return tuple(
            (f"k_{n}", ("first", ("col", n))) if self._chance(0.2) else (n, ("col", n)) for n in chosen
        )

    def _grouped(
        self, name: str, of: Relation, keys: Items, window: Window | None, emit: str, watermark=None
    ):
        measures = self._measures(of.columns)
        bounds: tuple[str, ...] = ()
        if window is not None:
            bounds = (
                (f"w_{name}",)
                if emit and not window.session and self._chance(0.25)
                else (f"s_{name}", f"e_{name}")
            )
        taken = {alias for alias, _ in keys}
        measures = tuple(
            (f"{alias}_{name}", function, argument)
            for alias, function, argument in measures
            if alias not in taken
        )
        having = self.random.randint(0, 2) if self._chance(0.2) and measures[0][1] == "count" else None
        body = Group(of.name, keys, measures, window, bounds, self._maybe(of.columns), having, watermark)
        columns = {alias: kind_of(e, of.columns) for alias, e in keys}
        columns |= dict.fromkeys(bounds, "w" if body.is_window_column else "t")
        columns |= {
            alias: "i" if function == "count" else kind_of(argument, of.columns)
            for alias, function, argument in measures
        }
        closes = emit == "on_close"
        all_keys = (*(alias for alias, _ in keys), *bounds[:1])
        times = {bounds[0]: 0} if closes and body.is_window_column else {}
        return self._view(
            name, body, columns, of, emit=emit, changing=not closes, keys=() if closes else all_keys, times=times,
            closed=bounds if closes else (), states=of.states + 1, unique="",
        )  # fmt: skip

    def _timed(self) -> Relation | None:
        return self._any(condition=lambda r: any(r.columns.get(t) == "t" for t in r.times))

    def _windows(self, name: str):
        of = self._timed()
        if of is None:
            return None
        time = next(t for t in of.times if of.columns.get(t) == "t")
        size = self.random.choice([10, 20, 60])
        slide = self.random.choice([0, 0, size // 2])
        emit = self.random.choice(["on_close", "on_close", ""])
        return self._grouped(name, of, self._keys(of.columns, 0), Window(("col", time), size, slide), emit)

    def _sessions(self, name: str):
        of = self._timed()
        if of is None:
            return None
        time = next(t for t in of.times if of.columns.get(t) == "t")
        window = Window(("col", time), self.random.choice([5, 15, 40]), session=True)
        return self._grouped(name, of, self._keys(of.columns, 1), window, "on_close")

    def _group(self, name: str):
        of = self._any()
        keys = self._keys(of.columns, 1)
        return self._grouped(name, of, keys, None, "") if keys else None

    def _above_closed(self, name: str):
        """Aggregate closed windows: once more by window, or by their bounds."""
        of = self._any(condition=lambda r: r.closed)
        if of is None:
            return None
        keys = self._keys(of.columns, 0)
        emit = self.random.choice(["on_close", "on_close", ""])
        if len(of.closed) == 1:
            window_column = of.closed[0]
            choices = [
                Window(("window", window_column), 0),
                Window(("window_time", window_column), self.random.choice([60, 120])),
            ]
            return self._grouped(name, of, keys, self.random.choice(choices), emit)
        start = of.closed[0]
        if self._chance(0.4):
            return self._grouped(name, of, (*keys[:1], (start, ("col", start))), None, "")
        window = Window(("col", start), self.random.choice([60, 120]))
        return self._grouped(name, of, keys, window, emit, watermark=(start, self.random.choice([0, 10, 60])))

    def _distinct(self, name: str):
        of = self._any()
        names = [n for n, kind in of.columns.items() if kind != "w" and n != "id"]
        names = self.random.sample(names, min(len(names), 2))
        body = Distinct(of.name, tuple(names), self._maybe(of.columns))
        return (
            self._view(name, body, {n: of.columns[n] for n in names}, of, states=of.states + 1)
            if names
            else None
        )

    def _dedupe(self, name: str):
        of = self._any(condition=lambda r: r.unique and any(r.columns.get(t) == "t" for t in r.times))
        if of is None:
            return None
        time = next(t for t in of.times if of.columns.get(t) == "t")
        # Of rows of one batch that have the same key, Spark says nothing of which is the first: equal keys are equal rows.
        key = of.unique
        items = tuple((n, ("col", n)) for n in of.columns)
        within = self.random.choice([None, 10, 60, 600])
        body = Select(of.name, items, ("known", ("col", time)))
        return self._view(
            name, body, of.columns, of, dedupe=((key,), within), unique=of.unique, states=of.states + 1
        )

    def _lookup(self, name: str):
        of = self._any(changing=self._chance(0.3))
        on = self._one(of.columns, "s") if of else ""
        if not on:
            return None
        rest = self.random.choice([r for r in self.at_rest if r.name != of.name])
        names = tuple(n for n in of.columns if n in of.keys or self._chance(0.8))
        there = [n for n in rest.columns if n not in rest.keys and rest.columns[n] in "si"]
        chosen = self.random.sample(there, min(len(there), 2))
        added = tuple((f"{n}_{name}"[:30], n) for n in chosen)
        if not names and not added:
            return None
        kind = self.random.choice(["left join", "join"])
        columns = {n: of.columns[n] for n in names} | {alias: rest.columns[n] for alias, n in added}
        closed = of.closed if set(of.closed) <= set(columns) else ()
        body = Lookup(of.name, rest.name, on, rest.keys[0], kind, names, added)
        return self._view(
            name, body, columns, of, unique=of.unique if of.unique in columns else "", closed=closed
        )

    def _explode(self, name: str):
        of = self._any()
        text = self._one(of.columns, "s")
        if not text:
            return None
        names = tuple(n for n in of.columns if self._chance(0.7))
        part = f"part_{name}"
        columns = {n: of.columns[n] for n in names} | {part: "s"}
        body = Explode(of.name, text, part, names, self._chance(0.5))
        return self._view(name, body, columns, of, unique="")

    def _union(self, name: str):
        sides = [self._any(), self._any()]
        columns: dict[str, str] = {}
        items: list[list[tuple[str, Expr]]] = [[], []]
        for kind in "sit":
            chosen = [self._one(side.columns, kind) for side in sides]
            if kind == "t":
                chosen = [next((t for t in side.times if side.columns.get(t) == "t"), "") for side in sides]
            if all(chosen):
                columns[f"u_{kind}"] = kind
                for side_items, column in zip(items, chosen, strict=True):
                    side_items.append((f"u_{kind}", ("col", column)))
        if not columns:
            return None
        selects = tuple(
            Select(side.name, tuple(side_items), self._maybe(side.columns))
            for side, side_items in zip(sides, items, strict=True)
        )
        delays = {
            side.times.get(dict(side_items).get("u_t", ("", ""))[1])
            for side, side_items in zip(sides, items, strict=True)
        }
        times = {"u_t": delays.pop()} if "u_t" in columns and len(delays) == 1 else {}
        return self._view(name, Union(selects), columns, sides[0], times=times, unique="",
                          states=max(side.states for side in sides))  # fmt: skip

    def _join(self, name: str):
        def is_joinable(relation):
            return relation.states == 0 and any(relation.columns.get(t) == "t" for t in relation.times)

        left, right = self._any(condition=is_joinable), self._any(condition=is_joinable)
        if left is None or right is None:
            return None
        on = self._one(left.columns, "s"), self._one(right.columns, "s")
        if not all(on):
            return None
        times = tuple(next(t for t in side.times if side.columns.get(t) == "t") for side in (left, right))
        kind = self.random.choice(["join", "join", "left join", "left semi join"])
        names = [("l", n, f"l_{n}"[-24:]) for n in left.columns if self._chance(0.7)] or [
            ("l", on[0], f"l_{on[0]}"[-24:])
        ]
        if kind != "left semi join":
            names += [("r", n, f"r_{n}"[-24:]) for n in right.columns if n != times[1] and self._chance(0.6)]
        sides = {"l": left, "r": right}
        columns = {alias: sides[side].columns[n] for side, n, alias in names}
        if len(columns) < len(names) or "w" in columns.values():
            return None
        left_times = {alias: left.times[n] for side, n, alias in names if side == "l" and n == times[0]}
        before, after = self.random.choice([(0, 60), (20, 20), (10, 40), (60, 0)])
        body = Join(left.name, right.name, kind, on, times, before, after, tuple(names))
        return self._view(name, body, columns, left, times=left_times, unique="", states=1)


def project(seed: int) -> Project:
    return Generator(seed).project()
