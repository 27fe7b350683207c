"""Small random projects, random edits of them, and their rows as another engine, DuckDB, finds them.

Only what both engines define alike: texts and whole numbers, NULL, filters, lookups, unions, groups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import duckdb

Rows = Counter[tuple[object, ...]]
"""A bag, each row with the values of some columns."""
EVENTS, HITS = "{{ source('shop', 'events') }}", "{{ source('shop', 'hits') }}"
_SOURCES = {
    EVENTS: {"user_id": "s", "type": "s", "product_id": "s", "amount": "i"},
    HITS: {"visitor": "s", "path": "s"},
}
_TEXTS = ("a", "b", "c", "p1", None)
SEED = "product_id,category\np1,books\na,toys\n"


class Item(NamedTuple):
    name: str
    text: str
    kind: str
    """`s` text, `i` a whole number."""


class Select(NamedTuple):
    items: tuple[Item, ...]
    read: str
    where: tuple[str, ...] = ()
    join: str = ""
    joined: tuple[tuple[str, str], ...] = ()
    """What the join brings: column, with its relation, and kind."""
    group: str = ""
    distinct: bool = False

    def sql(self) -> str:
        items = ", ".join(f"{item.text} as {item.name}" for item in self.items)
        where = f" where {' and '.join(self.where)}" if self.where else ""
        group = f" group by {self.group}" if self.group else ""
        return f"select {'distinct ' if self.distinct else ''}{items} from {self.read} as r{self.join}{where}{group}"


class Model(NamedTuple):
    sides: tuple[Select, ...]
    stored: str = "view"

    @property
    def columns(self) -> dict[str, str]:
        return {item.name: item.kind for item in self.sides[0].items}

    def sql(self) -> str:
        return " union all ".join(side.sql() for side in self.sides)

    def text(self) -> str:
        if self.stored == "view":
            return self.sql()
        key = f", unique_key='{self.sides[0].items[0].name}'" if self.stored == "table" else ""
        return f"{{{{ config(materialized='{self.stored}'{key}) }}}}\n{self.sql()}"


Project = dict[str, Model]


def expression(random: Random, kind: str, columns: dict[str, str]) -> str:
    """Return SQL of a kind over columns, which are written with their relation."""
    texts = [name for name, kind_of_column in columns.items() if kind_of_column == "s"] or ["'a'"]
    numbers = [name for name, kind_of_column in columns.items() if kind_of_column == "i"] or [
        "length(" + texts[0] + ")"
    ]
    s, t, i, k, w = (
        random.choice(texts), random.choice(texts), random.choice(numbers), random.randint(2, 6), random.choice("abc"),
    )  # fmt: skip
    if kind == "s":
        return random.choice(
            (
                s,
                s,
                f"upper({s})",
                f"coalesce({s}, '{w}')",
                f"{s} || '{w}'",
                f"{s} || {t}",
                f"case when {t} = '{w}' then {s} else 'x' end",
            )
        )
    return random.choice(
        (
            i,
            i,
            f"{i} + {k}",
            f"{i} * {k}",
            f"coalesce({i}, {k})",
            f"case when {s} = '{w}' then {i} else {k} end",
        )
    )


def condition(random: Random, columns: dict[str, str]) -> str:
    name, kind = random.choice(list(columns.items()))
    if kind == "i":
        return random.choice(
            (f"{name} > {random.randint(1, 5)}", f"{name} <> {random.randint(1, 5)}", f"{name} is not null")
        )
    word, other = random.sample("abc", 2)
    return random.choice(
        (
            f"{name} = '{word}'",
            f"{name} <> '{word}'",
            f"{name} in ('{word}', '{other}')",
            f"{name} is not null",
        )
    )


class Generator:
    """Writes a project, and edits of it; the same seed writes the same."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.project: Project = {}
        for number in range(self.random.randint(2, 5)):
            self.project[f"m{number}"] = self._model()

    def _readable(self) -> dict[str, dict[str, str]]:
        return _SOURCES | {
            f"{{{{ ref('{name}') }}}}": model.columns
            for name, model in self.project.items()
            if model.stored != "table"
        }

    def _model(self) -> Model:
        make = self.random.choice((self._rows, self._rows, self._united, self._grouped, self._looked_up))
        return make()

    def _select(self, join: str = "", more: dict[str, str] | None = None) -> Select:
        relations = [(read, columns) for read, columns in self._readable().items() if "s" in columns.values()]
        read, columns = self.random.choice(relations)
        columns_in_scope = {f"r.{name}": kind for name, kind in columns.items()} | (more or {})
        kinds = self.random.choices("sssi", k=self.random.randint(2, 4))
        items = tuple(
            Item(f"c{n}", expression(self.random, k, columns_in_scope), k) for n, k in enumerate(kinds)
        )
        where = tuple(
            condition(self.random, columns_in_scope) for _ in range(self.random.choice((0, 1, 1, 2)))
        )
        return Select(items, read, where, join)

    def _rows(self) -> Model:
        return Model((self._select(),), self.random.choice(("view", "sink")))

    def _united(self) -> Model:
        first, second = self._select(), self._select()
        columns = self._columns_of(second)
        items = tuple(Item(i.name, expression(self.random, i.kind, columns), i.kind) for i in first.items)
        return Model((first, second._replace(items=items)), self.random.choice(("view", "sink")))

    def _columns_of(self, select: Select) -> dict[str, str]:
        # An edit may have put what is read into a query of its own.
        columns = next(columns for read, columns in self._readable().items() if read in select.read)
        return {f"r.{name}": kind for name, kind in columns.items()} | dict(select.joined)

    def _grouped(self) -> Model:
        select = self._select()
        key = self.random.choice([name for name, kind in self._columns_of(select).items() if kind == "s"])
        items = [Item("k", key, "s")]
        for item in select.items:
            calls = ("sum", "min", "max", "count") if item.kind == "i" else ("min", "max", "count")
            call = self.random.choice(calls)
            items.append(
                Item(item.name, f"{call}({item.text})", "i" if call in {"sum", "count"} else item.kind)
            )
        return Model((select._replace(items=tuple(items), group=key),), "table")

    def _looked_up(self) -> Model:
        """Look up a row of the seed, or of a table of another model."""
        select = self._select()
        text = self.random.choice([name for name, kind in self._columns_of(select).items() if kind == "s"])
        tables = {name: model for name, model in self.project.items() if model.stored == "table"}
        name = self.random.choice(["products", *tables])
        columns = tables[name].columns if name in tables else {"product_id": "s", "category": "s"}
        key = next(iter(columns))
        joined = tuple((f"p.{column}", kind) for column, kind in columns.items())
        kind = self.random.choice(("left join", "join"))
        join = f" {kind} {{{{ ref('{name}') }}}} as p on p.{key} = {text}"
        kind_of_column = self.random.choice(("s", "s", joined[-1][1]))
        items = (
            *select.items,
            Item("found", expression(self.random, kind_of_column, dict(joined)), kind_of_column),
        )
        select = select._replace(items=items, join=join, joined=joined)
        return Model((select,), self.random.choice(("view", "sink")))

    # -- edits

    def edited(self) -> tuple[str, str, Project]:
        """Return what kind of an edit it is, the model, and the project after it."""
        name = self.random.choice(list(self.project))
        model = self.project[name]
        side = self.random.randrange(len(model.sides))
        edits = (
            "a literal", "an expression", "a condition more", "a condition less", "another join", "an aggregate",
            "a column more", "a column less", "columns exchanged", "a side less", *NO_CHANGE,
        )  # fmt: skip
        while True:
            edit = self.random.choice(edits)
            edited = self._edit(edit, model, side)
            if edited is not None and edited != model:
                return edit, name, self.project | {name: edited}

    def _edit(self, edit: str, model: Model, index: int) -> Model | None:
        side, random = model.sides[index], self.random
        position = random.randrange(len(side.items))
        item = side.items[position]

        def with_(**changes: object) -> Model:
            sides = list(model.sides)
            sides[index] = side._replace(**changes)
            return model._replace(sides=tuple(sides))

        def items(*new_items: Item) -> Model:
            return with_(items=new_items)

        match edit:
            case "a literal":
                texts = [*side.where, *(item.text for item in side.items)]
                literals = [m for text in texts for m in re.findall(r"\b[2-6]\b|'[abc]'", text)]
                if not literals:
                    return None
                old = random.choice(literals)
                new = str(random.randint(2, 6)) if old.isdigit() else f"'{random.choice('abc')}'"
                pattern = rf"\b{old}\b" if old.isdigit() else re.escape(old)
                return with_(
                    where=tuple(re.sub(pattern, new, text, count=1) for text in side.where),
                    items=tuple(i._replace(text=re.sub(pattern, new, i.text, count=1)) for i in side.items),
                )
            case "an expression" if not side.group:
                text = expression(random, item.kind, self._columns_of(side))
                return items(*side.items[:position], item._replace(text=text), *side.items[position + 1 :])
            case "an aggregate" if side.group and position:
                now = random.choice(("min", "max")) + item.text[item.text.index("(") :]
                return items(*side.items[:position], item._replace(text=now), *side.items[position + 1 :])
            case "a condition more":
                return with_(where=(*side.where, condition(random, self._columns_of(side))))
            case "a condition less" if side.where:
                return with_(where=side.where[1:])
            case "another join" if side.join:
                return with_(
                    join=side.join.replace(" left join", " join")
                    if "left" in side.join
                    else side.join.replace(" join", " left join")
                )
            case "a column more" if len(model.sides) == 1 and not side.group:
                return items(*side.items, Item("more", expression(random, "s", self._columns_of(side)), "s"))
            case "a column less" if len(model.sides) == 1 and position:
                return items(*side.items[:position], *side.items[position + 1 :])
            case "columns exchanged":
                other = next(
                    (
                        n
                        for n, other_item in enumerate(side.items)
                        if n > position and other_item.kind == item.kind
                    ),
                    None,
                )
                if other is None or (side.group and not position):
                    return None
                exchanged = list(side.items)
                exchanged[position], exchanged[other] = (
                    item._replace(text=exchanged[other].text),
                    exchanged[other]._replace(text=item.text),
                )
                return items(*exchanged)
            case "a side less" if len(model.sides) == 2:
                return model._replace(sides=(model.sides[1 - index],))
            case _:
                return self._same(edit, model, side, with_)

    def _same(self, edit: str, model: Model, side: Select, with_) -> Model | None:
        match edit:
            case "conditions in another order":
                return with_(where=tuple(reversed(side.where)))
            case "parentheses" if side.where:
                return with_(where=(f"({side.where[0]})", *side.where[1:]))
            case "a condition twice" if side.where:
                return with_(where=(*side.where, side.where[0]))
            case "a subquery":
                return with_(read=f"(select * from {side.read})")
            case "a filter in a subquery" if side.where and "p." not in side.where[0] and not side.join:
                inner = side.where[0].replace("r.", "")
                return with_(read=f"(select * from {side.read} where {inner})", where=side.where[1:])
            case "sides in another order" if len(model.sides) == 2:
                first, second = model.sides
                # Of one relation, which side is which can't be told without what is edited.
                return None if first.read == second.read else model._replace(sides=(second, first))
        return None


NO_CHANGE = (
    "conditions in another order", "parentheses", "a condition twice", "a subquery", "a filter in a subquery",
    "sides in another order",
)  # fmt: skip


def files(project: Project) -> dict[str, str]:
    """Return a project as `support.sql_plans` takes it."""
    return {name: model.text() for name, model in project.items()} | {"seeds/products.csv": SEED}


def inputs(random: Random) -> Iterator[dict[str, list[tuple[object, ...]]]]:
    """Yield records of the sources: mostly a few, in which one value decides, and some of many."""
    for size in (*[1] * 6, *[2] * 10, *[4] * 6, 40, 200):
        events = [(*random.choices(_TEXTS, k=3), random.choice((None, *range(-1, 9)))) for _ in range(size)]
        yield {"events": events, "hits": [tuple(random.choices(_TEXTS, k=2)) for _ in range(size)]}


class Evaluated:
    """The rows of all models of one version, for any input."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.engine = duckdb.connect()
        self.engine.execute(
            "create table events(user_id varchar, type varchar, product_id varchar, amount bigint)"
        )
        self.engine.execute("create table hits(visitor varchar, path varchar)")
        self.engine.execute("create table products(product_id varchar, category varchar)")
        self.engine.executemany(
            "insert into products values (?, ?)", [line.split(",") for line in SEED.split()[1:]]
        )
        for name, model in project.items():
            self.engine.execute(f"create view {name} as {_plain(model.sql())}")

    def rows(self, inputs: dict[str, list[tuple[object, ...]]]) -> dict[str, list[dict[str, object]]]:
        for name, records in inputs.items():
            self.engine.execute(f"delete from {name}")
            values = ", ".join(f"({', '.join(map(_literal, record))})" for record in records)
            self.engine.execute(f"insert into {name} values {values}")
        rows = {}
        for name, model in self.project.items():
            fetched = self.engine.execute(f"select * from {name}").fetchall()
            rows[name] = [dict(zip(model.columns, row, strict=True)) for row in fetched]
        return rows


def _literal(value: object) -> str:
    return "null" if value is None else repr(value)


def _plain(sql: str) -> str:
    """Return SQL with names in place of Jinja."""
    return re.sub(r"\{\{ (?:ref\('(\w+)'\)|source\('shop', '(\w+)'\)) \}\}", lambda m: m[1] or m[2], sql)


def bag(rows: list[dict[str, object]], columns: list[str]) -> Rows:
    return Counter(tuple(row[name] for name in columns) for row in rows)
