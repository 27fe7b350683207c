"""Whatever SQL a model has, it is planned and explained, or refused with a code, a place and a remedy.

`MILLSTREAM_PROJECTS=2000 uv run pytest -m long framework/tests/differential/test_any_sql.py` searches longer.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from generator import project as generated
from support.sql_plans import project as written

from millstream.compile import compile_project
from millstream.core.diagram import write_dot, write_mermaid
from millstream.core.errors import Diagnostic
from millstream.explain.explanation import ExplanationContext, explain_plans
from millstream.explain.formats.diagram import draw_diagram
from millstream.explain.formats.json import as_data
from millstream.explain.formats.kafka_streams import kafka_streams
from millstream.explain.formats.text import format_explanation
from millstream.explain.opaque import find_opaque
from millstream.explain.queries import explain_query, explain_separation
from millstream.explain.state_memory import StateStores
from millstream.queries.topology import compiled_topology, hints_of, physical_of

PROJECTS = int(os.environ.get("MILLSTREAM_PROJECTS", "200"))
EVENTS, HITS = "{{ source('shop', 'events') }}", "{{ source('shop', 'hits') }}"
SEED, TABLE, CHANGES = "{{ ref('products') }}", "{{ ref('totals') }}", "{{ ref('counted') }}"
SINK = "{{ config(materialized='sink', key='user_id') }} "
BASE = {
    "totals": "{{ config(materialized='table', unique_key='user_id') }} "
    f"select user_id, count(*) as n, max(type) as type from {EVENTS} group by user_id",
    "counted": f"select user_id, count(*) as n, max(type) as type from {EVENTS} group by user_id",
}
PROFILES = """
shop:
  target: all
  outputs:
    all: {}
    plain: {optimization: none, grouping: 'off'}
"""


def explained(folder: Path, models: dict[str, str], target: str = "all") -> list[Diagnostic]:
    """Explain a project in every format; the models that are refused, and those that read them, are left out."""
    root = written(folder, BASE | models)
    (root / "profiles.yml").write_text(PROFILES)
    compiled = compile_project(root, target=target, use_cache=False)
    wrong = [
        diagnostic
        for diagnostic in compiled.diagnostics
        if diagnostic.severity == "error" or diagnostic.code == "MS414"
    ]
    if wrong:
        bad = {Path(diagnostic.location.path).stem for diagnostic in wrong if diagnostic.location}
        assert bad, wrong
        left = {name: sql for name, sql in models.items() if name not in bad}
        for name in bad:
            (root / f"models/{name}.sql").unlink()
        while lost := [n for n, sql in left.items() if any(f"ref('{b}')" in sql for b in bad)]:
            for name in lost:
                bad.add(name)
                del left[name]
                (root / f"models/{name}.sql").unlink()
        return wrong + explained(folder, left, target)
    topology = compiled_topology(compiled)
    physical = physical_of(topology)
    explanation = explain_plans(
        topology.optimized,
        ExplanationContext(
            hints=hints_of(topology.catalog),
            queries=tuple(
                explain_query(query, topology.catalog, StateStores()) for query in physical.queries
            ),
            separations=tuple(map(explain_separation, physical.separations)),
            unsupported=find_opaque(topology.catalog, compiled, "target", None),
        ),
    )
    for drawing in (explanation.written, explanation.optimized):
        assert all(draw(draw_diagram(drawing)) for draw in (write_dot, write_mermaid))
        assert kafka_streams(drawing)
    assert format_explanation(explanation, sql=True)
    assert as_data(explanation)
    return []


def codes(folder: Path, sql: str, target: str = "all") -> list[str]:
    diagnostics = explained(folder, {"m": sql}, target)
    assert all(diagnostic.location and diagnostic.help for diagnostic in diagnostics)
    return [diagnostic.code for diagnostic in diagnostics]


SEMI = [
    (f"{kind} join {SEED} as p on {on}", code)
    for kind in ("left semi", "left anti")
    for on, code in [
        ("p.product_id = u.user_id", ""),
        ("p.product_id = u.user_id and p.category = 'a'", ""),
        ("p.product_id = u.user_id and u.n > 1", ""),
        ("p.product_id = u.user_id and p.category = u.type", ""),
        ("p.product_id > u.user_id", "MS516"),
        ("p.product_id <=> u.user_id", "MS516"),
        ("upper(p.product_id) = u.user_id", "MS516"),
        ("p.product_id = u.user_id and p.category > u.type", "MS516"),
        ("p.category = 'a'", "MS516"),
        ("true", "MS516"),
    ]
]


@pytest.mark.parametrize("target", ["all", "plain"])
def test_semi_and_anti_lookups_of_rows_that_change(tmp_path, target):
    models = {
        f"m{n}": f"{SINK}select user_id, n from {CHANGES} as u {join}" for n, (join, _) in enumerate(SEMI)
    }
    diagnostics = explained(tmp_path, models, target)
    codes_by_model = {Path(diagnostic.location.path).stem: diagnostic.code for diagnostic in diagnostics}
    assert codes_by_model == {f"m{n}": code for n, (_, code) in enumerate(SEMI) if code}


def test_a_table_beside_a_stream_is_looked_up_in_sql_that_is_not_understood(tmp_path):
    sql = f"select user_id from {EVENTS} as e where exists (select 1 from {TABLE} as t where t.user_id = e.user_id)"
    assert codes(tmp_path, sql) == []


def test_rows_that_change_are_not_read_by_sql_that_is_not_understood(tmp_path):
    sql = f"{SINK}select user_id from {CHANGES} as e where exists (select 1 from {SEED} as p where p.product_id = e.type)"
    assert codes(tmp_path, sql) == ["MS514"]


@pytest.mark.parametrize(("kind", "option"), [("sink", "key"), ("table", "unique_key")])
def test_one_row_has_a_key_that_is_a_text(tmp_path, kind, option):
    config = f"{{{{ config(materialized='{kind}', {option}='id') }}}}"
    assert codes(tmp_path, f"{config} select 'all' as id, count(*) as n from {EVENTS}") == []


def test_one_row_without_a_key_is_refused(tmp_path):
    config = "{{ config(materialized='sink') }}"
    (diagnostic,) = explained(tmp_path, {"m": f"{config} select count(*) as n from {EVENTS}"})
    assert (diagnostic.code, diagnostic.message) == (
        "MS518",
        "topic 'm' gets its only row again when it changes, but has no key",
    )


def test_rows_that_never_change_are_not_stored(tmp_path):
    assert codes(tmp_path, f"{SINK}select product_id as user_id from {SEED}") == ["MS694"]
    assert codes(tmp_path, f"{SINK}select 'a' as user_id") == ["MS694"]


def test_an_outer_join_of_what_is_at_rest_with_a_stream_is_one_mistake(tmp_path):
    sql = f"select p.category, e.user_id from {SEED} as p left join {EVENTS} as e on e.product_id = p.product_id"
    assert codes(tmp_path, sql) == ["MS513"]


SELECTS = [
    "select user_id from {e} where user_id in (select user_id from {t})",
    "select user_id from {e} where user_id not in (select user_id from {t})",
    "select user_id from {e} where user_id in (select visitor from {h})",
    "select user_id, (select max(n) from {t}) as most from {e}",
    "select user_id, (select max(n) from {t} as t where t.user_id = e.user_id) as most from {e} as e",
    "select user_id from {e} where amount > any (select n from {t})",
    "select case when user_id in (select user_id from {t}) then 1 else 0 end as known from {e}",
    "select user_id, count(*) filter (where type in (select type from {t})) as n from {e} group by user_id",
    "select user_id, count(*) as n from {e} group by user_id having count(*) > (select max(n) from {t})",
    "select user_id, max(type) as t from {e} group by user_id having score(max(type), 1D) > 1",
    "select e.user_id from {e} as e full outer join {h} as h on e.user_id = h.visitor and e.at between h.seen and h.seen + interval 1 hour",
    "select e.user_id from {e} as e full outer join {h} as h on e.user_id = h.visitor",
    "select e.user_id from {e} as e left semi join {h} as h on e.user_id = h.visitor and e.at < h.seen",
    "select e.user_id from {e} as e left anti join {h} as h on e.user_id = h.visitor",
    "select e.user_id, h.visitor from {e} as e, {h} as h where e.user_id = h.visitor",
    "select e.user_id from {e} as e cross join {h} as h",
    "select e.user_id from {e} as e natural join {s} as p",
    "select * from {e} as e join {s} as p on p.product_id = e.product_id",
    "select * from {e} as e join {s} as p using (product_id)",
    "select p.category from {s} as p full join {e} as e on e.product_id = p.product_id",
    "select p.category from {s} as p left semi join {e} as e on e.product_id = p.product_id",
    "select p.category from {s} as p full join {s} as q on p.product_id = q.product_id",
    "select e.user_id from {e} as e join ({s} as p join {t} as t on t.user_id = p.product_id) on e.product_id = p.product_id",
    "select e.user_id, p.category from {e} as e, lateral (select category from {s} as p where p.product_id = e.product_id) as p",
    "select user_id from {e} union all (select visitor from {h} union select user_id from {e})",
    "select user_id, amount from {e} union all select visitor, 1.5 from {h}",
    "select user_id from {t} union all select user_id from {e}",
    "select product_id from {s} union all select user_id from {e}",
    "select user_id, type from {e} union by name select 'a' as type, visitor as user_id from {h}",
    "select user_id from {e} intersect select visitor from {h}",
    "select user_id from {e} except select product_id from {s}",
    "select user_id from {e} minus select user_id from {t}",
    "select e.user_id, row_number() over (partition by e.user_id order by e.at) as r from {e} as e join {s} as p on p.product_id = e.product_id",
    "select user_id from {e} qualify row_number() over (partition by user_id order by at desc) = 1",
    "select user_id, sum(amount) over w as s from {e} window w as (partition by user_id)",
    "select user_id, type, count(*) as n from {e} group by cube(user_id, type)",
    "select user_id, type, count(*) as n from {e} group by rollup(user_id, type)",
    "select user_id, type, count(*) as n from {e} group by grouping sets((user_id), (type), ())",
    "select user_id, type, count(*) as n from {e} group by all",
    "select window(at, '1 minute') as w, window(at, '5 minutes') as x, count(*) as n from {e} group by 1, 2",
    "select session_window(at, '5 minutes') as w, user_id, count(*) as n from {e} group by 1, 2",
    "select user_id, x from {e} lateral view explode(split(type, ',')) t as x",
    "select user_id, x, y from {e} lateral view outer explode(split(type, ',')) t as x lateral view posexplode(tags) z as p, y",
    "select inline(array(struct(user_id as a, type as b))) from {e}",
    "select stack(2, user_id, type) as (a) from {e}",
    "select * from (select user_id, type, amount from {e}) pivot (sum(amount) for type in ('a', 'b'))",
    "select * from (select user_id, amount, cast(value as bigint) as v from {e}) unpivot (x for name in (amount, v))",
    "with events as (select user_id from {e}), totals as (select * from events) select * from totals",
    "with a as (select user_id from {e}), b as (with a as (select visitor from {h}) select * from a) select a.user_id from a join b on a.user_id = b.visitor",
    "with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select * from r",
    "select q.n from (select user_id, n, type from {c}) as q",
    "select distinct user_id, n from {c}",
    "select type, count(*) as n from {t} group by type",
    "select user_id from {e} order by at limit 10",
    "select user_id from {e} tablesample (10 percent)",
    "select user_id from {e} cluster by user_id",
    "select * from values (1, 'a') as t(a, b)",
    "select id from range(10)",
    "select count(*) as n",
    "select _key, _offset, _headers, _timestamp, _partition, _topic from {e}",
    "select transform(tags, t -> score(t, value)) as s from {e}",
    "select filter(tags, user_id -> user_id = type) as t from {e}",
    "select score(type, value) as s, count(*) as n from {e} group by score(type, value)",
    "select e.user_id from {e} as e join {s} as p on score(e.type, e.value) > 1 and p.product_id = e.product_id",
    "select user_id from {e} as e where exists (select 1 from {s} as p where score(p.category, e.value) > 1)",
    "select user_id from {e} as e where exists (select 1 from {t} as t where t.type = e.type and exists (select 1 from {s} as p where p.category = t.type))",
    "select s.* from (select struct(user_id, type) as s from {e})",
    "from {e} |> where amount > 1 |> select user_id",
]  # fmt: skip


@pytest.mark.parametrize("target", ["all", "plain"])
def test_selects_of_every_kind(tmp_path, target):
    relations = {"e": EVENTS, "h": HITS, "s": SEED, "t": TABLE, "c": CHANGES}
    models = {f"m{number}": sql.format(**relations) for number, sql in enumerate(SELECTS)}
    diagnostics = explained(tmp_path, models, target)
    assert [
        (diagnostic.code, diagnostic.message)
        for diagnostic in diagnostics
        if not (diagnostic.location and diagnostic.help)
    ] == []
    assert len({diagnostic.location.path for diagnostic in diagnostics}) < len(SELECTS) / 2, (
        "nearly all of them are refused"
    )


class Mixed:
    """Writes SELECTs that nobody would: their parts are put together at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def models(self) -> dict[str, str]:
        models: dict[str, str] = {}
        for number in range(12):
            relations = [f"{{{{ ref('{name}') }}}}" for name in models]
            models[f"x{number}"] = self.model(relations)
        return models

    def model(self, relations: list[str]) -> str:
        kind = self.random.choice(
            ["", "", "materialized='sink', key='k'", "materialized='table', unique_key='k'"]
        )
        more = self.random.choice(["", "", "emit='on_close'", "dedupe={'keys': ['k'], 'within': '1 hour'}"])
        message = ", ".join(filter(None, (kind, more)))
        return (f"{{{{ config({message}) }}}} " if message else "") + self.select(relations, 2)

    def relation(self, relations: list[str], depth: int) -> str:
        """Return a relation with the columns k, n and t."""
        fixed = [
            f"(select user_id as k, amount as n, at as t from {EVENTS})",
            f"(select visitor as k, length(path) as n, seen as t from {HITS})",
            f"(select product_id as k, 1 as n, timestamp '2024-01-01' as t from {SEED})",
            f"(select user_id as k, n, current_timestamp() as t from {TABLE})",
        ]
        if depth and self.random.random() < 0.4:
            return f"({self.select(relations, depth - 1)})"
        return self.random.choice(fixed + relations[-3:])

    def condition(self, alias: str, relations: list[str], depth: int) -> str:
        inner = self.relation(relations, 0) if depth else f"(select product_id as k, 2 as n from {SEED})"
        return self.random.choice(
            [
                f"{alias}.n > 1", f"{alias}.k is not null", f"score({alias}.k, 1D) > 1",
                f"{alias}.k in (select i.k from {inner} as i)", f"{alias}.k not in (select i.k from {inner} as i)",
                f"exists (select 1 from {inner} as i where i.k = {alias}.k)", f"{alias}.n > (select max(i.n) from {inner} as i)",
                f"not exists (select 1 from {inner} as i where i.n > {alias}.n)", "rand() < 0.5", f"{alias}.t > current_timestamp()",
            ]
        )  # fmt: skip

    def select(self, relations: list[str], depth: int) -> str:
        return self.random.choice(
            [self.plain, self.plain, self.joined, self.joined, self.grouped, self.united]
        )(relations, depth)

    def where(self, alias: str, relations: list[str], depth: int) -> str:
        conditions = [self.condition(alias, relations, depth) for _ in range(self.random.randrange(3))]
        return f" where {self.random.choice([' and ', ' or ']).join(conditions)}" if conditions else ""

    def plain(self, relations: list[str], depth: int) -> str:
        items = self.random.choice(["a.k, a.n, a.t", "*", "upper(a.k) as k, a.n + 1 as n, a.t", "a.k, score(a.k, 1D) as n, a.t",
                                    "distinct a.k, a.n, a.t", "a.k, sum(a.n) over (partition by a.k) as n, a.t"])  # fmt: skip
        tail = self.random.choice(["", "", "", " lateral view explode(array(1, 2)) z as q", " lateral view outer explode(split(a.k, ',')) z as q"])  # fmt: skip
        return f"select {items} from {self.relation(relations, depth)} as a{tail}{self.where('a', relations, depth)}"

    def joined(self, relations: list[str], depth: int) -> str:
        kind = self.random.choice(["join", "left join", "right join", "full join", "left semi join", "left anti join", "cross join"])  # fmt: skip
        on = self.random.choice(["a.k = b.k", "a.k = b.k and a.t between b.t and b.t + interval 1 hour", "a.k = b.k and b.n > 1",
                                 "a.k = b.k and a.n > b.n", "a.n > b.n", "a.k <=> b.k", "upper(a.k) = b.k", "score(a.k, 1D) > b.n"])  # fmt: skip
        on = "" if kind == "cross join" else f" on {on}"
        left, right = self.relation(relations, depth), self.relation(relations, depth)
        return f"select a.k, a.n, a.t from {left} as a {kind} {right} as b{on}{self.where('a', relations, 0)}"

    def grouped(self, relations: list[str], depth: int) -> str:
        of = self.random.choice(
            ["a.k", "upper(a.k)", "a.k, window(a.t, '5 minutes')", "cube(a.k)", "a.k, score(a.k, 1D)"]
        )
        having = self.random.choice(["", "", " having count(*) > 1", f" having max(a.n) > (select max(p.n) from {TABLE} as p)"])  # fmt: skip
        first = "upper(a.k)" if of.startswith("upper") else "a.k"
        return (
            f"select {first} as k, count(*) as n, max(a.t) as t from {self.relation(relations, depth)} as a"
            f"{self.where('a', relations, 0)} group by {of}{having}"
        )

    def united(self, relations: list[str], depth: int) -> str:
        how = self.random.choice(["union all", "union", "intersect", "except"])
        depth = max(depth - 1, 0)
        return f"({self.plain(relations, depth)}) {how} ({self.select(relations, depth)})"


def mixed(folder: Path, seed: int) -> None:
    for target in ("all", "plain"):
        root = folder / f"{seed}_{target}"
        for diagnostic in explained(root, Mixed(seed).models(), target):
            assert diagnostic.location, (seed, diagnostic)
            assert diagnostic.help, (seed, diagnostic)


@pytest.mark.parametrize("seed", range(4))
def test_a_few_selects_put_together_at_random(tmp_path, seed):
    mixed(tmp_path, seed)


@pytest.mark.long
def test_selects_put_together_at_random(tmp_path):
    for seed in range(PROJECTS):
        mixed(tmp_path, seed)


@pytest.mark.long
def test_projects_put_together_at_random(tmp_path):
    for seed in range(PROJECTS):
        for target in ("all", "plain"):
            assert explained(tmp_path / f"{seed}_{target}", generated(seed), target) == []
