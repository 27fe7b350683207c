"""After a random edit of random tables over tables, no changed value is missed: both versions run in DuckDB, too."""

import re
import shutil
from collections import Counter
from dataclasses import replace
from random import Random

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.long import MAINTAINED, MAINTAINED_FIRST
from support.spark import SPARK_WARNINGS

from maintained.advanced import FORMS as MORE
from maintained.generator import sequences
from maintained.harness import InDuckDB, in_memory, insert, ordered, translated, typed
from millstream.compile import compile_project
from millstream.review.compare import review_versions
from millstream.review.rebuild_cost import collect_figures
from millstream.review.version import version_of

pytestmark = SPARK_WARNINGS
SHORT = 30
EDITS = {
    r"\bsum\(": "max(",
    r"\bmin\(": "max(",
    r"\bcount\(": "max(",
    r"\bleft join\b": "join",
    r"(?<!left )(?<!right )(?<!full )\bjoin\b": "left join",
    r"\b1\b": "2",
    r"\b3\b": "2",
    r"<>": "=",
    r"\bis null\b": "is not null",
    r"\bis not null\b": "is null",
    r"\band\b": "or",
    r"\bx\.r\b": "x.v",
    r"\bx\.v\b": "x.r",
    r"\bx\.(k|v)\b": r"y.\1",
    r"\by\.(k|v)\b": r"x.\1",
    r"\bdesc\b": "asc",
    r"\bunion all\b": "union",
    r"\bintersect\b": "except",
    r"\bdistinct\b": "",
    r"\bpartition by [\w.]+": "partition by 1",
    r"\bnot exists\b": "exists",
}
"""Edits of which most change rows or values."""


@st.composite
def edits(draw):
    """Draw tables, and one of them with another SQL."""
    sequence = draw(sequences(MORE))
    positions = [
        (index, match.span(), match.expand(after))
        for index, table in enumerate(sequence.models)
        for before, after in EDITS.items()
        for match in re.finditer(before, table.sql)
    ]
    if not positions:
        return sequence, sequence
    index, (start, stop), text = draw(st.sampled_from(positions))
    sql = sequence.models[index].sql
    tables = list(sequence.models)
    tables[index] = replace(tables[index], sql=sql[:start] + text + sql[stop:])
    return sequence, replace(sequence, models=tables)


def rows_of(sequence):
    """Return the rows of each table over tables, by DuckDB."""
    database, random = in_memory(), Random(len(sequence.models))
    for base in sequence.base:
        rows = [
            (key, random.choice([None, *"abc"]), *(random.choice([None, 0, 1, 2, 3]) for _ in "rv"))
            for key in range(12)
        ]
        columns = ", ".join(f"{name} {kind}" for name, kind in typed(base))
        database.execute(f"create table {base.name} ({columns})")
        insert(database, base.name, rows)
    table_rows = {}
    for table in sequence.models:
        database.execute(translated(f"create table {table.name} as {table.for_duckdb()}"))
        names = ", ".join(table.columns)
        table_rows[table.name] = database.execute(f"select {names} from {table.name}").fetchall()
    return table_rows


def reported(folder, before, after):
    """Return for each model whether other rows are reported, and the changed columns; None if one is refused."""
    InDuckDB(folder / "main", before)
    shutil.copytree(folder / "main", folder / "now")
    for table, was in zip(after.models, before.models, strict=True):
        (folder / f"now/models/{table.name}.sql").write_text(replace(table, full=was.full).model())
    roots = {name: folder / name for name in ("main", "now")}
    compiled = {name: compile_project(root, use_cache=False) for name, root in roots.items()}
    if any(diagnostic.severity == "error" for diagnostic in compiled["now"].diagnostics):
        return None
    versions = [version_of(name, compiled[name], root) for name, root in roots.items()]
    reviewed = review_versions(*versions, collect_figures(compiled["now"].manifest, {}, None))
    return {node.id.partition(".")[2]: (node.rows, {c.name for c in node.columns}) for node in reviewed.nodes}


def missed(folder, before, after):
    """Return the models of which changes are not reported; None if no row differs, or a version is refused."""
    try:
        was, now = rows_of(before), rows_of(after)
    except duckdb.Error:
        return None  # such as a column that the edit took from another table
    if all(bag(was[name]) == bag(now[name]) for name in was):
        return None
    changes = reported(folder, before, after)
    if changes is None:
        return None
    unreported = []
    for table in before.models:
        rows, columns = changes.get(table.name, (False, set()))
        positions = [index for index, name in enumerate(table.columns) if name not in columns]
        if not rows and bag(was[table.name], positions) != bag(now[table.name], positions):
            unreported.append(table.name)
    return unreported


def bag(rows, positions=None):
    return Counter(
        ordered(
            [row if positions is None else tuple(row[position] for position in positions) for row in rows]
        )
    )


def check_edits(folders, examples):
    compared = []

    @seed(MAINTAINED_FIRST)
    @settings(
        max_examples=examples,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(edits())
    def check(versions):
        unreported = missed(folders.mktemp("project"), *versions)
        compared.append(unreported is not None)
        assert not unreported, [table.for_spark() for version in versions for table in version.models]

    check()
    assert sum(compared) >= examples // 5


def test_no_changed_value_is_missed(tmp_path_factory):
    check_edits(tmp_path_factory, SHORT)


@pytest.mark.long
def test_no_changed_value_is_missed_by_many_edits(tmp_path_factory):
    check_edits(tmp_path_factory, MAINTAINED)
