"""Commands import what they need, and no more: PySpark alone takes as long to import as some of them run."""

import json
import subprocess
import sys

SLOW = (
    "pyspark",
    "py4j",
    "pandas",
    "pyarrow",
    "deltalake",
    "sqlglot",
    "jinja2",
    "rich.console",
    "confluent_kafka",
)
WITHOUT_THEM = (
    ["ls", "--output", "json"],
    ["lineage", "totals"],
    ["query", "show tables"],
)
PLANNING = (
    ["state"],
    ["plan", "--output", "json"],
    ["review", "--against-manifest", "target/manifest.json", "--output", "json"],
)
"""The rules of the optimizer read expressions with sqlglot."""
WITHOUT_SPARK = (["explain", "totals"], ["docs", "generate"])
BEFORE_SPARK = (
    "millstream.cli.commands.apply",
    "millstream.cli.commands.build",
    "millstream.cli.commands.dead_letters",
    "millstream.cli.commands.lag",
    "millstream.cli.test_runs",
    "millstream.cli.build_tests",
    "millstream.ops.dead_letters.counting",
    "millstream.kafka.connection",
    "millstream.ops.lag",
    "millstream.runner.commands.up_to_date",
    "millstream.deploy.handover.channel",
    "millstream.testing.data.contents",
    "millstream.testing.units.contents",
)
"""Modules of commands that answer from Kafka and checkpoints, or that check what is to do first."""
PROGRAM = """\
import contextlib, importlib, io, json, sys
from millstream.cli.group import millstream

slow, commands, modules = json.loads(sys.argv[1])
found = []
def note():
    found.append([name for name in slow if name in sys.modules])
for command in commands:
    with contextlib.redirect_stdout(io.StringIO()):
        assert not millstream.main(command, standalone_mode=False), command
    note()
for module in modules:
    importlib.import_module(module)
    note()
print(json.dumps(found))
"""


def test_commands_import_nothing_slow_that_they_do_not_need(run, shop):
    assert run("compile").code == 0
    modules = (*BEFORE_SPARK, "millstream.runner.commands.build")
    arguments = json.dumps([SLOW, [*WITHOUT_THEM, *PLANNING, *WITHOUT_SPARK], modules])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    imported = json.loads(done.stdout)
    quick = (*WITHOUT_THEM, *PLANNING)
    first, rest = imported[: len(quick)], imported[len(quick) :]
    expected = {str(command): [] for command in WITHOUT_THEM}
    expected |= {str(command): ["sqlglot"] for command in PLANNING}
    assert dict(zip(map(str, quick), first, strict=True)) == expected
    *rest, last = ({"pyspark", "py4j"}.intersection(names) for names in rest)
    names = [*map(str, WITHOUT_SPARK), *BEFORE_SPARK]
    assert [name for name, spark in zip(names, rest, strict=True) if spark] == []
    assert last == {"pyspark", "py4j"}  # as soon as there is something to do
