"""Random projects: models in the ways that people write them, over the topics and the seed of `written`."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Relation(NamedTuple):
    """What a model can read: its columns by kind, and whether its rows can change later."""

    call: str
    columns: dict[str, str]
    """Name to kind: s text, n double, i bigint, t time, b boolean."""
    keys: tuple[str, ...] = ()
    """Of rows that change."""


SOURCES = [
    Relation(
        "{{ source('shop', 'events') }}",
        {"user_id": "s", "type": "s", "product_id": "s", "value": "n", "amount": "i", "at": "t"},
    ),
    Relation("{{ source('shop', 'hits') }}", {"visitor": "s", "path": "s", "seen": "t"}),
]
_CONDITIONS = {
    "s": ["{c} = 'a'", "{c} <> 'b'", "{c} in ('a', 'c')", "{c} is not null", "{c} like 'a%'", "length({c}) > 1",
          "upper({c}) = 'A'", "({c} = 'a' or {c} = 'd')"],
    "n": ["{c} > 1", "{c} <= 2.5", "{c} is null", "{c} between 0 and 3"],
    "i": ["{c} > 1", "{c} <> 2", "{c} is not null", "{c} % 2 = 0"],
    "t": ["{c} >= timestamp '2024-01-01 00:00:30'", "{c} is not null"],
    "b": ["{c}", "not {c}", "coalesce({c}, false)"],
}  # fmt: skip
_VALUES = {
    "s": ["upper({s})", "coalesce({s}, 'none')", "concat({s}, '-', {s2})", "substring({s}, 1, 1)", "'fixed'",
          "case when {s} = 'a' then 'first' else {s2} end"],
    "n": ["{n} * 2", "coalesce({n}, 0.5D)", "score({s}, {n})", "cast({i} as double)", "{n} + {i}"],
    "i": ["coalesce({i}, 0)", "{i} + 1", "length({s})", "cast(length(concat({s}, {s2})) as bigint)"],
    "b": ["{s} = 'a'", "{n} > 1", "{i} is null"],
    "t": ["date_trunc('minute', {t})", "{t} + interval 1 second"],
}  # fmt: skip


class Generator:
    """Writes one project; the same seed writes the same one."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.relations = list(SOURCES)
        self.models: dict[str, str] = {}

    def project(self) -> dict[str, str]:
        for number in range(self.random.randint(5, 15)):
            self._model(f"m{number}")
        return self.models

    def _model(self, name: str) -> None:
        makers = [self._projection] * 4 + [self._aggregate] * 3 + [
            self._union, self._lookup, self._join, self._distinct, self._exploded,
        ]  # fmt: skip
        sql, columns, keys = self.random.choice(makers)()
        kind = self.random.choice(["view", "view", "view", "sink", "table"])
        config = ""
        if kind == "sink" and len(keys) < 2:
            key = keys[0] if keys else self._one(columns, "s")
            config = f"materialized='sink', key='{key}'" if key else "materialized='sink'"
        elif kind == "table":
            # Without a key of its own every row would be one: those that are equal in all columns.
            unique = list(keys or columns)
            config = f"materialized='table', unique_key={unique!r}" if keys else ""
            keys = keys or ()
        self.models[name] = (f"{{{{ config({config}) }}}}\n" if config else "") + sql
        self.relations.append(Relation(f"{{{{ ref('{name}') }}}}", columns, keys))

    # -- parts

    def _any(self, *, events: bool = True) -> Relation:
        candidates = [r for r in self.relations if not (events and r.keys)]
        return self.random.choice(
            candidates[-4:] + candidates[:1] if self.random.random() < 0.7 else candidates
        )

    def _one(self, columns: dict[str, str], kind: str) -> str:
        names = [name for name, of in columns.items() if of == kind]
        return self.random.choice(names) if names else ""

    def _value(self, columns: dict[str, str], kind: str, prefix: str) -> str:
        template = self.random.choice(_VALUES[kind])
        parts = {"s": "'x'", "s2": "'y'", "n": "1.5D", "i": "7", "t": "timestamp '2024-01-01 00:00:00'"}
        for slot, default in parts.items():
            name = self._one(columns, slot[0])
            parts[slot] = prefix + name if name else default
        return template.format(**parts)

    def _conditions(self, columns: dict[str, str], prefix: str, most: int = 2) -> list[str]:
        names = self.random.sample(list(columns), min(len(columns), self.random.randint(0, most)))
        return [self.random.choice(_CONDITIONS[columns[n]]).format(c=prefix + n) for n in names]

    def _from(self, relation: Relation) -> tuple[str, str, str]:
        """Return WITH, what stands after FROM, and the prefix of columns."""
        match self.random.randrange(4):
            case 0:
                return "", relation.call, ""
            case 1:
                return f"with given as (select * from {relation.call})\n", "given as g", "g."
            case 2:
                selected = ", ".join(relation.columns)
                return "", f"(select {selected} from {relation.call}) as q", "q."
            case _:
                return "", f"{relation.call} as r", "r."

    def _where(self, conditions: list[str]) -> str:
        return f"\nwhere {' and '.join(conditions)}" if conditions else ""

    # -- models

    def _projection(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        relation = self._any(events=False)
        head, source, prefix = self._from(relation)
        columns: dict[str, str] = {key: relation.columns[key] for key in relation.keys}
        items = [prefix + key for key in relation.keys]
        for name, kind in relation.columns.items():
            if name not in columns and self.random.random() < 0.7:
                columns[name] = kind
                items.append(prefix + name)
        for _ in range(self.random.randint(0, 3)):
            kind = self.random.choice("sssniibt")
            name = f"{kind}{len(columns)}_{self.random.randrange(3)}"
            if name not in columns and name not in relation.columns:
                columns[name] = kind
                items.append(f"{self._value(relation.columns, kind, prefix)} as {name}")
        if not items:
            return self._projection()
        sql = f"{head}select {', '.join(items)}\nfrom {source}{self._where(self._conditions(relation.columns, prefix))}"
        return sql, columns, relation.keys

    def _aggregate(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        relation = self._any()
        head, source, prefix = self._from(relation)
        texts = [n for n, kind in relation.columns.items() if kind == "s"]
        columns: dict[str, str] = {}
        items, groups = [], []
        for name in self.random.sample(texts, min(len(texts), self.random.randint(1, 2))):
            if self.random.random() < 0.4:
                text = f"substring({prefix}{name}, 1, 1)"
                items.append(f"{text} as k_{name}")
                columns[f"k_{name}"] = "s"
            else:
                text = prefix + name
                items.append(text)
                columns[name] = "s"
            groups.append(text)
        time = self._one(relation.columns, "t")
        if time and self.random.random() < 0.3:
            groups.append(f"window({prefix}{time}, '1 minute')")
            items.append("window.start as opened")
            columns["opened"] = "t"
        if not groups:
            return self._projection()
        keys = tuple(columns)
        for number in range(self.random.randint(1, 3)):
            kind = self.random.choice(["i", "i", "n", "t", "s"])
            column = self._one(relation.columns, kind)
            calls = ["count(*)"]
            if column:
                of = prefix + column
                calls += [f"min({of})", f"max({of})", f"count({of})"]
                calls += [f"sum({of})", f"sum({of}) filter (where {of} > 1)"] if kind in "ni" else []
            call = self.random.choice(calls)
            name = f"a{number}"
            columns[name] = "i" if call.startswith("count") else kind
            items.append(f"{call} as {name}")
        having = f"\nhaving count(*) > {self.random.randint(0, 2)}" if self.random.random() < 0.3 else ""
        where = self._where(self._conditions(relation.columns, prefix))
        sql = f"{head}select {', '.join(items)}\nfrom {source}{where}\ngroup by {', '.join(groups)}{having}"
        return sql, columns, keys

    def _union(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        sides = [self._any(), self._any()]
        kinds = [kind for kind in "sntib" if all(self._one(side.columns, kind) for side in sides)]
        if not kinds:
            return self._projection()
        columns = {f"u_{kind}": kind for kind in kinds}
        parts = []
        for side in sides:
            items = [f"{self._one(side.columns, kind)} as u_{kind}" for kind in kinds]
            where = self._where(self._conditions(side.columns, "", 1))
            parts.append(f"select {', '.join(items)} from {side.call}{where}")
        return "\nunion all\n".join(parts), columns, ()

    def _lookup(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        relation = self._any()
        key = self._one(relation.columns, "s")
        if not key or "category" in relation.columns:
            return self._projection()
        how = self.random.choice(["left join", "join"])
        columns = {n: k for n, k in relation.columns.items() if self.random.random() < 0.8} | {
            "category": "s"
        }
        items = [f"r.{name}" if name != "category" else "p.category" for name in columns]
        conditions = self._conditions(relation.columns, "r.") + self.random.choice([[], ["p.category = 'a'"]])
        on = self.random.choice([f"p.product_id = r.{key}", f"r.{key} = p.product_id and p.category <> 'b'"])
        sql = (
            f"select {', '.join(items)}\nfrom {relation.call} as r\n"
            f"{how} {{{{ ref('products') }}}} as p on {on}{self._where(conditions)}"
        )
        return sql, columns, ()

    def _join(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        left, right = self._any(), self._any()
        one, other = self._one(left.columns, "s"), self._one(right.columns, "s")
        if not one or not other:
            return self._projection()
        columns: dict[str, str] = {}
        items = []
        for alias, relation in (("l", left), ("r", right)):
            for name, kind in list(relation.columns.items())[:3]:
                columns[f"{alias}_{name}"[:20]] = kind
                items.append(f"{alias}.{name} as {alias}_{name}"[:60])
        columns = {
            item.rpartition(" as ")[2]: kind for item, kind in zip(items, columns.values(), strict=False)
        }
        conditions = self._conditions(left.columns, "l.", 1) + self._conditions(right.columns, "r.", 1)
        sql = (
            f"select {', '.join(items)}\nfrom {left.call} as l\n"
            f"join {right.call} as r on l.{one} = r.{other}{self._where(conditions)}"
        )
        return sql, columns, ()

    def _distinct(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        relation = self._any()
        names = self.random.sample(list(relation.columns), min(2, len(relation.columns)))
        where = self._where(self._conditions(relation.columns, ""))
        return (
            f"select distinct {', '.join(names)} from {relation.call}{where}",
            {n: relation.columns[n] for n in names},
            (),
        )

    def _exploded(self) -> tuple[str, dict[str, str], tuple[str, ...]]:
        relation = self._any()
        text = self._one(relation.columns, "s")
        if not text or "part" in relation.columns:
            return self._projection()
        names = [n for n in relation.columns if self.random.random() < 0.6]
        items = ", ".join([*(f"r.{n}" for n in names), "e.part"])
        outer = self.random.choice(["", "outer "])
        sql = (
            f"select {items}\nfrom {relation.call} as r\n"
            f"lateral view {outer}explode(split(r.{text}, 'a')) e as part"
            f"{self._where(self._conditions(relation.columns, 'r.'))}"
        )
        return sql, {n: relation.columns[n] for n in names} | {"part": "s"}, ()


def project(seed: int) -> dict[str, str]:
    return Generator(seed).project()
