"""Remedies of errors that commands report without Spark and Kafka, each tried."""

import json
import re
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pytest
from cli.conftest import run as run  # noqa: PLC0414 - a fixture
from deltalake import write_deltalake
from docs.test_exporters import registered as registered  # noqa: PLC0414 - a fixture
from support.kinds import parquet_folders as parquet_folders  # noqa: PLC0414 - a fixture
from support.receiving import receiving
from support.schema_cases import STRING, field, object_, record
from support.sql_plans import project

from millstream.cli.failures import run_guarded
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.values import DiagnosticEvent, QueryFailed
from millstream.docs.exporters import write_document
from millstream.docs.exporters.project import ExportedProject
from millstream.engine.spark.target_lock import target_lock
from millstream.local.java import check_folder
from millstream.ops.metrics import RunIdentity
from millstream.ops.notifications.sending import send_notices
from millstream.ops.package.requirements import check_lock, required_packages
from millstream.project.pins import Subject, encode_subject, version_of
from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.sources.registry import installed_kinds, source_module

EVENTS = "{{ source('shop', 'events') }}"


def table(options=""):
    return f"{{{{ config(materialized='table', unique_key='user_id'{options}) }}}} select user_id, type from {EVENTS}"


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as error:
        call(*arguments)
    (diagnostic,) = error.value.diagnostics
    return diagnostic.code, diagnostic.help


def compiled(run):
    return [(d["code"], d["help"]) for d in run("compile", "--output", "json").json["diagnostics"]]


@pytest.fixture
def pinned(tmp_path, monkeypatch, run):
    """Return a function that compiles a sink whose topic has pinned schemas."""

    def compile_sink(options, columns, *versions, kind="AVRO"):
        root = project(
            tmp_path,
            {"orders": f"{{{{ config(materialized='sink', {options}) }}}} select {columns} from {EVENTS}"},
        )
        numbered = tuple(version_of(n, 6 + n, kind, text) for n, text in enumerate(versions, 1))
        (root / "schemas/registry").mkdir(parents=True, exist_ok=True)
        (root / "schemas/registry/orders-value.json").write_text(
            encode_subject(Subject("orders-value", "BACKWARD", numbered))
        )
        monkeypatch.chdir(root)
        return compiled(run)

    return compile_sink


AVRO = record(field("user_id", ["null", "string"]))


def test_a_schema_that_is_not_pinned(pinned):
    """The registry has it: `millstream schemas pull` is what tests/kafka/registry runs."""
    (reported,) = pinned("schema='registry'", "user_id")
    assert reported == ("MS125", "run `millstream schemas pull`")
    assert pinned("schema='registry'", "user_id", AVRO) == []


def test_a_schema_of_another_format(pinned):
    ((code, remedy),) = pinned("schema='registry', format='json'", "user_id", AVRO)
    assert (code, remedy) == ("MS126", "omit the format, or name another subject")
    assert pinned("schema='registry'", "user_id", AVRO) == []


def test_a_kind_of_source_that_is_not_installed(monkeypatch, request):
    installed_kinds.cache_clear()
    code, remedy = refused(source_module, "parquet_folder", "positions")
    assert (code, remedy) == (
        "MS131",
        "install the package that names it in the entry points 'millstream.sources'",
    )
    request.getfixturevalue("parquet_folders")
    assert source_module("parquet_folder", "positions").ends


def test_an_exporter_that_fails(registered):
    registered("mine = other:write", "def write(project): return 1")
    exported = ExportedProject("p", "t", "1", {}, None)
    code, remedy = refused(write_document, "mine", exported)
    assert (code, remedy) == ("MS713", "fix or update the package that provides it.")


def test_a_package_that_is_not_installed():
    code, remedy = refused(required_packages, ["click>=99"])
    assert code == "MS662"
    assert "click" in required_packages(["click>=8"])
    code, remedy = refused(required_packages, ["click >= >="])
    assert (code, remedy) == ("MS662", "write a name and perhaps versions: numpy>=2")


def test_a_package_that_the_lock_file_does_not_have(tmp_path):
    click = metadata.distribution("click")
    lock = '[[package]]\nname = "click"\nversion = "{}"\n'
    (tmp_path / "uv.lock").write_text(lock.format("0.1"))
    code, remedy = refused(check_lock, tmp_path, [click])
    assert (code, remedy) == ("MS663", "install what it says with `uv sync`, or update it with `uv lock`")
    (tmp_path / "uv.lock").write_text(lock.format(click.version))
    assert check_lock(tmp_path, [click])


def test_a_folder_that_java_can_not_use(tmp_path):
    folder = tmp_path / "a\nb"
    folder.mkdir()
    code, remedy = refused(check_folder, folder)
    assert (code, remedy) == ("MS820", "rename the folder")
    check_folder(folder.rename(tmp_path / "a b"))


def test_a_table_of_a_store_that_the_target_does_not_configure(tmp_path, monkeypatch, run):
    monkeypatch.chdir(project(tmp_path, {"t": table(", store='postgres'")}))
    write_deltalake(tmp_path / ".millstream/local/tables/t", pa.table({"user_id": ["a"], "type": ["x"]}))
    result = run("query", "select * from t", "--output", "json")
    (diagnostic,) = result.json["diagnostics"]
    assert diagnostic["code"] == "MS841"
    assert diagnostic["help"].endswith("or remove store: postgres")
    project(tmp_path, {"t": table()})
    assert run("query", "select * from t", "--output", "json").json["rows"] == [{"user_id": "a", "type": "x"}]


def test_a_table_in_a_folder_whose_name_delta_decodes(tmp_path, monkeypatch, run):
    shop = tmp_path / "a%41"
    shop.mkdir()
    monkeypatch.chdir(project(shop, {"t": table()}))
    write_deltalake(tmp_path / "t", pa.table({"user_id": ["a"], "type": ["x"]}))
    (shop / ".millstream/local/tables").mkdir(parents=True)
    (tmp_path / "t").rename(shop / ".millstream/local/tables/t")
    (diagnostic,) = run("query", "select * from t", "--output", "json").json["diagnostics"]
    assert diagnostic["code"] == "MS847"
    assert "rename the folder that has '%41' in its name" in diagnostic["help"]
    shop.rename(tmp_path / "renamed")
    monkeypatch.chdir(tmp_path / "renamed")
    assert run("query", "select * from t", "--output", "json").json["rows"] == [{"user_id": "a", "type": "x"}]


def test_explain_warns_of_a_limit_that_is_too_small(tmp_path, monkeypatch, run):
    sql = (
        "{{ config(materialized='table', unique_key='type', state={'memory': '1 MB'}) }} "
        "select type, count(*) as n from {{ source('shop', 'events') }} group by type\n"
    )
    project(tmp_path, {"m": sql})
    sources = tmp_path / "models/sources.yml"
    counted = "{name: type, type: string, distinct: 10000000}"
    sources.write_text(sources.read_text().replace("{name: type, type: string}", counted))
    monkeypatch.chdir(tmp_path)
    output = run("explain", "--output", "json").json
    (warning,) = output["diagnostics"]
    assert (warning["code"], warning["severity"]) == ("MS675", "warning")
    assert warning["message"] == "filters and indexes of states need about 20 MB, their limit is 1 MB"
    assert (warning["path"], warning["line"], warning["column"]) == ("models/m.sql", 1, 4)
    ((state,),) = (query["states"] for query in output["queries"])
    assert (state["rows"], state["entries"], state["limit"]) == (10_000_000, 20_000_000, 10**6)
    (tmp_path / "models/m.sql").write_text(sql.replace("1 MB", warning["help"].split("'")[3]))
    assert run("explain", "--output", "json").json["diagnostics"] == []


def test_a_schema_that_readers_of_older_versions_can_not_read(pinned, tmp_path):
    closed = {"additionalProperties": False, "required": ["user_id"]}
    pins = object_({"user_id": STRING}, **closed)
    (tmp_path / "schemas").mkdir()
    wider = object_({"user_id": STRING, "type": STRING}, **{**closed, "required": ["user_id", "type"]})
    (tmp_path / "schemas/orders.json").write_text(wider)
    columns = "coalesce(user_id, '') as user_id, coalesce(type, '') as type"
    ((code, remedy),) = pinned("schema='schemas/orders.json'", columns, pins, kind="JSON")
    assert (code, remedy) == ("MS128", "keep the schema compatible, or write to another topic")
    assert pinned("schema='schemas/orders.json', topic='others'", columns, pins, kind="JSON") == []


def test_a_target_that_another_command_uses(tmp_path, monkeypatch, run):
    monkeypatch.chdir(project(tmp_path, {"t": table()}))
    folder = tmp_path / ".millstream/local"
    with target_lock(folder, "local"):
        (diagnostic,) = run("clean", "--output", "json").json["diagnostics"]
        assert (diagnostic["code"], diagnostic["help"]) == ("MS874", "wait until it ends, or use --force")
    assert run("clean", "--output", "json").json["diagnostics"] == []


def test_a_notification_that_is_not_sent():
    """Its target names another address: a warning, and none with the right one."""
    failed = QueryFailed("totals", Diagnostic("MS868", "1 / 0"), 1, 1.0)
    events = []

    def notify(url):
        settings = {"notifications": [{"webhook": Secret(url)}]}
        target = Target("shop", "production", settings)
        with send_notices(target, RunIdentity("shop", "production"), events.append) as tell:
            tell(failed)
        return [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)]

    with receiving() as receiver:
        (warning,) = notify("http://127.0.0.1:9/hook")
        assert (warning.code, warning.help) == (
            "MS850",
            "fix `notifications` of the target; the run continues",
        )
        events.clear()
        assert notify(receiver.url) == []
        assert "1 / 0" in receiver.next()["text"]


def test_an_internal_error_is_reported_with_its_file(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("MILLSTREAM_TRACEBACK", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def reported():
        assert run_guarded(lambda: 1 // 0, ["compile", "--output", "json"]) == 2
        captured = capsys.readouterr()
        (diagnostic,) = json.loads(captured.out)["diagnostics"]
        return diagnostic["code"], diagnostic["help"], captured.err

    code, remedy, _ = reported()
    report = Path(re.match(r"report it with (\S+), which has the traceback", remedy)[1])
    assert (code, "ZeroDivisionError" in report.read_text()) == ("MS900", True)
    # Where no file can be written, the traceback is shown on request.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    code, remedy, text = reported()
    assert remedy == "set MILLSTREAM_TRACEBACK=1 to see the traceback, and report it"
    assert "Traceback" not in text
    monkeypatch.setenv(*re.search(r"set (\w+)=(\w+)", remedy).groups())
    assert "Traceback" in reported()[2]


SUMMED = """
from dataclasses import dataclass
from typing import Iterator, NamedTuple

class Row(NamedTuple):
    amont: int
    Type: str
    _offset: int

@dataclass
class State:
    total: int = 0

def summed(key: str, rows: Iterator[Row], state: State) -> Iterator[int]:
    for row in rows:
        state.total += row.amont
        yield state.total
"""


def test_a_function_with_state_reads_a_column_that_its_rows_lack(tmp_path, monkeypatch, run):
    """A field of its class: it is renamed, or the column is selected."""
    sink = "{{ config(materialized='sink') }} "
    call = f"select t.value as total from {EVENTS} as e, lateral summed(e.user_id) as t"
    project(tmp_path, {"m": sink + call})
    (tmp_path / "macros/summed.py").write_text(SUMMED)
    monkeypatch.chdir(tmp_path)
    (diagnostic,) = run("compile", "--output", "json").json["diagnostics"]
    assert (diagnostic["code"], diagnostic["help"]) == ("MS877", "did you mean 'amount'?")
    assert (diagnostic["path"], diagnostic["line"]) == ("models/m.sql", 1)
    assert diagnostic["message"].startswith("summed() reads 'amont', which is not a column of the rows")
    selected = call.replace(EVENTS, f"(select *, amount as amont, _offset from {EVENTS})")
    project(tmp_path, {"m": sink + selected})
    assert compiled(run) == []
    project(tmp_path, {"m": sink + call})
    (tmp_path / "macros/summed.py").write_text(SUMMED.replace("amont", "amount"))
    assert compiled(run) == []


@pytest.mark.parametrize(
    ("written", "right"),
    [
        (
            "select user_id from {t} group by user_id having count(*) > 1 order by sum(amount)",
            "select user_id, sum(amount) as n from {t} group by user_id having count(*) > 1 order by n",
        ),
        (
            "select user_id, sum(amount) as amount from {t} group by user_id order by sum(amount)",
            "select user_id, sum(amount) as amount from {t} group by user_id order by amount",
        ),
    ],
)
def test_an_aggregate_by_which_spark_can_not_order(tmp_path, monkeypatch, run, written, right):
    config = "{{ config(materialized='table', unique_key='user_id', refresh='full') }} "
    stored = f"{{{{ config(materialized='table', unique_key='id') }}}} select user_id as id, * from {EVENTS}"
    monkeypatch.chdir(project(tmp_path, {"t": stored, "m": config + written.format(t="{{ ref('t') }}")}))
    assert compiled(run) == [("MS415", "name the aggregate in the SELECT list, and order by its name")]
    project(tmp_path, {"m": config + right.format(t="{{ ref('t') }}")})
    assert compiled(run) == []
