"""Models whose rows a function writes: its signature, its name in the model, and what uses such a model."""

import pytest
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.node_id import NodeId
from millstream.queries.topology import compiled_topology, physical_of

EVENTS = "{{ source('shop', 'events') }}"
IMPORTS = "import millstream\nimport pandas\nimport pyarrow as pa\nfrom pyarrow import Table\n"
SEND = "def send_rows(rows: pa.Table, batch: millstream.Batch) -> None:\n    pass\n"
SIGNATURE = "write `def send_rows(rows: pyarrow.Table, batch: millstream.Batch) -> None:`."
SENT = f"{{{{ config(materialized='python', write='send_rows') }}}} select user_id from {EVENTS}"
TOTALS = f"select user_id, sum(amount) as total from {EVENTS} group by user_id"


def compiled(root, sql=SENT, python=SEND, **models):
    root = project(root, {"sent": sql, **models})
    (root / "macros").mkdir(exist_ok=True)
    (root / "macros/writers.py").write_text(IMPORTS + python)
    return compile_project(root, use_cache=False)


def reported(*arguments, **models):
    return [
        (d.code, d.message, d.help, d.location and (d.location.path, d.location.line, d.location.column))
        for d in compiled(*arguments, **models).diagnostics
    ]


@pytest.mark.parametrize(
    "signature",
    [
        "rows: pa.Table, batch: millstream.Batch",
        "rows: Table, batch: 'millstream.Batch'",
        "rows: pandas.DataFrame, batch: millstream.Batch",
        "orders: 'pa.Table', b: millstream.Batch",
    ],
)
def test_rows_can_be_of_both_classes(tmp_path, signature):
    assert reported(tmp_path, SENT, f"def send_rows({signature}) -> None:\n    pass\n") == []


@pytest.mark.parametrize(
    ("signature", "message", "column"),
    [
        ("rows: pa.Table) -> None", "takes the rows and the batch", 5),
        ("batch: millstream.Batch, rows: pa.Table) -> None", "takes the rows and the batch", 15),
        ("rows: list[int], batch: millstream.Batch) -> None", "takes the rows and the batch", 15),
        ("rows: pa.Table, batch: str) -> None", "takes the rows and the batch", 31),
        ("rows: pa.Table, batch: millstream.Batch, url: str) -> None", "takes the rows and the batch", 5),
        ("rows: pa.Table, batch: millstream.Batch, *, url: str = '') -> None", "takes the rows and the batch", 5),
        ("rows: pa.Table, batch: millstream.Batch) -> int", "returns None", 59),
        ("rows: pa.Table, batch: millstream.Batch)", "returns None", 5),
    ],
)  # fmt: skip
def test_another_signature_is_reported_where_it_differs(tmp_path, signature, message, column):
    first, *_ = reported(tmp_path, SENT, f"def send_rows({signature}:\n    pass\n")
    wrong = f"'send_rows' writes batches, so it {message}"
    assert first == ("MS326", wrong, SIGNATURE, ("macros/writers.py", 5, column))


@pytest.mark.parametrize(
    ("sql", "code", "message", "remedy"),
    [
        (SENT.replace("send_rows", "send_row"), "MS132", "the function 'send_row' does not exist", "did you mean 'send_rows'?"),
        (SENT.replace("send_rows", "half"), "MS132", "half() is a function for SQL: it does not take a batch of rows",
         "let it have the signature `def half(rows: pyarrow.Table, batch: millstream.Batch) -> None:`"),
        (SENT.replace(", write='send_rows'", ""), "MS132", "'sent' does not say which function writes its rows",
         "name it: config(write='send_rows')"),
        (SENT.replace("'send_rows'", "'send_rows', topic='a'"), "MS121", "'topic' is an option of a sink, but this model is a python",
         "set materialized='sink', or remove 'topic'"),
        (SENT.replace("'send_rows'", "'send_rows', retries=-1"), "MS120", "'retries' must be a whole number from 0, not '-1'", None),
        (SENT.replace("'send_rows'", "'send_rows', on_failure='skip'"), "MS120", "'on_failure' must be one of stop, dead_letter, not 'skip'", None),
        (SENT.replace("'send_rows'", "'send_rows', key='user'"), "MS519", "'key' names 'user', which is not a column of this model", "did you mean 'user_id'?"),
        (TOTALS.replace("select", "{{ config(materialized='python', write='send_rows', unbounded_state='accept') }} select", 1), "MS518",
         "endpoint 'sent' gets the row of each user_id again when it changes, but has no key",
         "set config(key='user_id'): a reader keeps the newest row per key"),
        (f"select send_rows(user_id) as x from {EVENTS}", "MS415", "send_rows() writes batches of rows, so SQL can't call it",
         "let it write this model: config(materialized='python', write='send_rows')"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_reported_in_the_model(tmp_path, sql, code, message, remedy):
    (diagnostic,) = reported(tmp_path, sql, f"{SEND}def half(x: int) -> int:\n    return x // 2\n")
    assert diagnostic[:2] == (code, message)
    assert remedy is None or diagnostic[2] == remedy
    assert diagnostic[3][:2] == ("models/sent.sql", 1)


def test_no_model_reads_what_a_function_has_written(tmp_path):
    (diagnostic,) = reported(tmp_path, SENT, SEND, reader="select user_id from {{ ref('sent') }}")
    assert diagnostic[:2] == (
        "MS214",
        "model 'sent' is materialized as 'python', whose rows no model can read",
    )


def test_each_model_has_a_query_of_its_own_since_its_function_can_wait(tmp_path):
    sink = f"{{{{ config(materialized='sink') }}}} select user_id from {EVENTS}"
    queries = physical_of(
        compiled_topology(compiled(tmp_path, SENT, SEND, other=SENT, sink=sink)), None
    ).queries
    assert sorted(str(query.title) for query in queries) == ["other", "sent", "sink"]


def test_a_model_names_its_function_in_the_manifest(tmp_path):
    manifest = compiled(tmp_path).manifest
    assert manifest.nodes[NodeId("model", "sent")].functions == ("send_rows",)
    function = manifest.functions["send_rows"]
    assert function.signature == "send_rows(rows: pyarrow.Table, batch: millstream.Batch) -> None"
