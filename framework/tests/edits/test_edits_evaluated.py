"""Random edits of small projects: where a state goes on, another engine finds the same rows as before the edit.

`MILLSTREAM_EVALUATED_EDITS=2000 uv run pytest -m long -s framework/tests/edits/test_edits_evaluated.py` tells 2,000.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from random import Random

import pytest
from edits.copied import in_one_query, less_strict
from edits.rewrites import SAME, rewritten
from support.evaluated_edits import NO_CHANGE, Evaluated, Generator, Item, Model, Select, bag, files, inputs
from support.reviews import written

from millstream.compile import compile_project
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import plan_on_running
from millstream.deploy.planning.stages import judge_checkpoint
from millstream.queries.topology import compiled_topology, physical_of

EDITS = int(os.environ.get("MILLSTREAM_EVALUATED_EDITS", "100"))
FIRST = int(os.environ.get("MILLSTREAM_EVALUATED_EDITS_FIRST", "1000"))


def with_tables(project):
    """Return a project in which each view and sink is read by a table, so that there is state."""
    models = dict(project)
    for name, model in project.items():
        if model.stored != "table":
            key, *others = model.columns.items()
            items = [Item("k", key[0], "s"), Item("n", "count(*)", "i")]
            items += [Item(c, f"{'sum' if kind == 'i' else 'max'}({c})", kind) for c, kind in others]
            read = f"{{{{ ref('{name}') }}}}"
            models[f"t_{name}"] = Model((Select(tuple(items), read, group=key[0]),), "table")
    return models | _with_copied_state(models)


def _with_copied_state(models):
    """Return a topic with state below it, and a union that reads it and another topic."""
    name = next((name for name, model in models.items() if model.stored != "table"), None)
    if name is None:
        return {}
    items = tuple(Item(column, f"r.{column}", kind) for column, kind in models[name].columns.items())

    def rows_of(read, **options):
        return Select(items, f"{{{{ ref('{read}') }}}}", **options)

    return {
        "firsts": Model((rows_of(name, distinct=True),), "sink"),
        "united": Model((rows_of("firsts"), rows_of(name)), "sink"),
    }


def edit_of(seed):
    """Return what an edit is called, and a project before and after it."""
    generator = Generator(seed)
    random = Random(f"edit {seed}")
    before = generator.project
    if random.random() < 0.4:
        name, _, after = generator.edited()
        return name, with_tables(before), with_tables(after)
    before = with_tables(before)
    while True:
        model = random.choice(list(before))
        rewrite = _rewritten(random, before[model])
        if rewrite is not None:
            return rewrite[0], before, before | {model: rewrite[1]}


def _rewritten(random, model):
    index = random.randrange(len(model.sides))
    side = model.sides[index]
    texts = [*(item.text for item in side.items[1 if side.group else 0 :]), *side.where]
    text = random.choice(texts)
    rewrite = rewritten(random, text)
    if rewrite is None or rewrite[1] == text:
        return None
    name, new = rewrite
    items = tuple(item._replace(text=new) if item.text == text else item for item in side.items)
    where = tuple(new if condition == text else condition for condition in side.where)
    sides = list(model.sides)
    sides[index] = side._replace(items=items, where=where)
    return name, model._replace(sides=tuple(sides))


def changed_models(before, after):
    return {name for name in before if before[name] != after.get(name)}


def topology(folder, project):
    compiled = compile_project(written(folder, files(project)), use_cache=False)
    errors = [d.message for d in compiled.diagnostics if d.severity == "error"]
    return None if errors else compiled_topology(compiled)


def verdicts(before, after):
    """Return the verdict of each table."""
    first = physical_of(before)
    running = Deployed({query.name: new_record("", query, {}) for query in first.queries}, first.lock)
    reused = plan_on_running(after, physical_of(after, first.lock), running, before.catalog, Update())
    now = {output.model: query for query in reused.physical.queries for output in query.outputs}
    return {
        output.model.removeprefix("model."): judge_checkpoint(
            now[output.model], running.records[query.name], running
        ).kind
        for query in first.queries
        for output in query.outputs
        if output.model in now
    }


class Tally:
    """What is said of edits, and what DuckDB finds."""

    def __init__(self):
        self.unsafe = []
        self.seen = Counter()
        self.strict = Counter()
        self.refused = 0
        self.copied = Counter()
        """How often a query that has the state of another one was planned, by the verdict of that one."""

    def tell(self, folder, seed):
        name, before, after = edit_of(seed)
        old = topology(folder / "old", before)
        new = topology(folder / "new", after)
        if old is None or new is None:
            self.refused += 1
            return
        message = verdicts(old, new)
        if "firsts" in before and not {"firsts", "united"}.intersection(changed_models(before, after)):
            kind, less = less_strict("firsts", in_one_query(old), in_one_query(new))
            self.copied[kind] += 1
            self.unsafe += [(seed, name, model, kind, other) for model, other in less.items()]
        was, now = Evaluated(before), Evaluated(after)
        pairs = [(was.rows(rows), now.rows(rows)) for rows in inputs(Random(seed))]
        equal = True
        for table, model in before.items():
            if model.stored == "table" and table in message:
                columns = [c for c in model.columns if c in after[table].columns]
                differs = any(bag(a[table], columns) != bag(b[table], columns) for a, b in pairs)
                equal = equal and not differs and len(columns) == len(model.columns)
                self.seen[message[table], "differs" if differs else "equal"] += 1
                if differs and message[table] == "same":
                    self.unsafe.append((seed, name, table, model.sql(), after[table].sql()))
        if equal:
            self.strict[name, set(message.values()) <= {"same"}] += 1

    def report(self):
        names = sorted({name for name, _ in self.strict})
        lines = [
            f"{dict(self.seen)}, {self.refused} edits don't compile; of copied states: {dict(self.copied)}",
            "edits that DuckDB finds harmless:",
        ]
        lines += [
            f"  {name}: {self.strict[name, True]} same, {self.strict[name, False]} not" for name in names
        ]
        sys.stdout.write("\n" + "\n".join(lines) + "\n")


def check(folder, seeds):
    tally = Tally()
    for seed in seeds:
        tally.tell(folder, seed)
    tally.report()
    assert tally.unsafe == []
    assert tally.seen["same", "equal"] > 0
    assert tally.copied["mixed"] + tally.copied["rebuild"] > 0
    counts = [(same, number) for (name, same), number in tally.strict.items() if name in {*SAME, *NO_CHANGE}]
    stopped = sum(number for same, number in counts if not same)
    assert stopped <= 0.05 * sum(number for _, number in counts)


def test_few_edits(tmp_path):
    check(tmp_path, (*range(7), 23))  # of 23, the edit is below a state that two queries have


@pytest.mark.long
def test_many_edits(tmp_path):
    check(tmp_path, range(FIRST, FIRST + EDITS))
