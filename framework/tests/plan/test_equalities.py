"""Two streams are joined by an `=` between them: what the compiler refuses, Spark refuses, and nothing else."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import PySparkException
from support.micro_batches import attempted
from support.sql_plans import project

TIMES = "e.at between h.seen - interval 1 hour and h.seen + interval 1 hour"
MATCHED = [
    "from e join h on e.user_id = h.visitor",
    "from e join h on (upper(e.user_id) = h.visitor or false) and lower(h.path) = concat(e.type, '=')",
    "from e join h on h.visitor <=> e.user_id",
    "from e join h on (h.path == e.type)",
    "from e join h on e.at = h.seen",
    "from e, h where e.user_id = h.visitor and e.type = 'x'",
    "from e, h where coalesce(h.visitor, 'a = b') = e.user_id",
    f"from e left join h on e.user_id = h.visitor and {TIMES}",
]
UNMATCHED = [
    f"from e join h on {TIMES}",
    "from e cross join h",
    "from e, h where e.user_id = 'a' and h.visitor = 'a'",
    "from e join h on e.user_id = h.visitor or e.type = h.path",
    "from e join h on e.user_id <> h.visitor and e.type >= h.path",
    "from e join h on concat(e.user_id, h.visitor) = e.type",
    "from e join h on not e.user_id = h.visitor",
    "from e join h on case when e.user_id = h.visitor then true else e.type = h.path end",
    f"from e left join h on {TIMES}",
    f"from e semi join h on {TIMES}",
]
FORMS = [*MATCHED, *UNMATCHED]
RELATIONS = {"e": "{{ source('shop', 'events') }} as e", "h": "{{ source('shop', 'hits') }} as h"}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile all forms at once, and return what is wrong with each."""

    def model(form):
        return re.sub(
            r"(from|join|,) ([eh])\b(?!\.)", lambda match: f"{match[1]} {RELATIONS[match[2]]}", form
        )

    models = {
        f"m{n}": f"{{{{ config(unbounded_state='accept') }}}} select e.type {model(form)}\n"
        for n, form in enumerate(FORMS)
    }
    root = project(tmp_path_factory.mktemp("joins"), models)
    return root, attempted(root)[1]


@pytest.mark.parametrize("number", range(len(FORMS)), ids=FORMS)
def test_the_compiler_refuses_a_join_without_an_equality(compiled, number):
    root, wrong = compiled
    path = f"models/m{number}.sql"
    diagnostics = [
        diagnostic for diagnostic in wrong if diagnostic.location and diagnostic.location.path == path
    ]
    if FORMS[number] in MATCHED:
        assert diagnostics == []
        return
    (diagnostic,) = diagnostics
    location = diagnostic.location
    assert diagnostic.code == "MS513"
    assert diagnostic.help == "compare a column of each side by = in ON, such as e.user_id = h.visitor"
    line = (root / path).read_text().splitlines()[location.line - 1]
    assert line[location.column - 1 : location.end - 1] == "source('shop', 'hits')"


@pytest.fixture(scope="module")
def streams(spark, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("rows"))
    rows = {
        "e": ("select 'u' as user_id, 'x' as type, timestamp '2026-01-01 00:00:00' as at", "at"),
        "h": ("select 'u' as visitor, 'a' as path, timestamp '2026-01-01 00:00:00' as seen", "seen"),
    }
    for name, (sql, time) in rows.items():
        frame = spark.sql(sql)
        frame.write.parquet(f"{folder}/{name}")
        stream = spark.readStream.schema(frame.schema).parquet(f"{folder}/{name}")
        stream.withWatermark(time, "1 minute").createOrReplaceTempView(name)
    return spark


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_spark_refuses_the_same(streams, tmp_path, form):
    writer = streams.sql(f"select e.type {form}").writeStream.outputMode("append").format("noop")

    def run():
        started = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        started.awaitTermination()

    if form in MATCHED:
        run()
        return
    with pytest.raises(PySparkException, match="without equality predicate"):
        run()
