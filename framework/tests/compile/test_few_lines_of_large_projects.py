"""A few lines that describe more than fits into memory: a compile ends soon, with one error in its place."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.core.errors import MillstreamError

TOPIC = "sources:\n  - name: s\n    topics:\n      - {{name: t, format: {}, schema: schemas/x.{}}}\n"
LEVELS = range(1, 12)


def ten(text: str, separator: str = ",") -> str:
    return separator.join(text.replace("N", str(number)) for number in range(1, 11))


JSON_REFERENCES = (
    '{"$ref": "#/$defs/a11", "$defs": {"a0": {"type": "object", "properties": {"x": {"type": "string"}}}'
    + "".join(
        f', "a{n}": {{"type": "object", "properties": {{{ten(f""" "pN": {{"$ref": "#/$defs/a{n - 1}"}}""")}}}}}'
        for n in LEVELS
    )
    + "}}"
)
JSON_PARTS = (
    '{"$ref": "#/$defs/a11", "$defs": {"a0": {"type": "object", "properties": {"x": {"type": "string"}}}'
    + "".join(f', "a{n}": {{"allOf": [{ten(f"""{{"$ref": "#/$defs/a{n - 1}"}}""")}]}}' for n in LEVELS)
    + "}}"
)
JSON_DEEP = '{"type": "object", "properties": {"a": ' * 400 + '{"type": "string"}' + "}}" * 400
JSON_CHAIN = (
    '{"$ref": "#/$defs/a0", "$defs": {"a2000": {"type": "string"}'
    + "".join(
        f', "a{n}": {{"type": "object", "properties": {{"x": {{"$ref": "#/$defs/a{n + 1}"}}}}}}'
        for n in range(2000)
    )
    + "}}"
)
AVRO = (
    '{"type": "record", "name": "R", "fields": '
    '[{"name": "f0", "type": {"type": "record", "name": "A0", "fields": [{"name": "x", "type": "long"}]}}'
    + "".join(
        f', {{"name": "f{n}", "type": {{"type": "record", "name": "A{n}", "fields": '
        f"""[{ten(f'{{"name": "pN", "type": "A{n - 1}"}}')}]}}}}"""
        for n in LEVELS
    )
    + "]}"
)
PROTOBUF = (
    'syntax = "proto3"; message R { A11 a = 1; } message A0 { int64 x = 1; }'
    + "".join(f" message A{n} {{ {ten(f'A{n - 1} pN = N;', ' ')} }}" for n in LEVELS)
)  # fmt: skip


def project(root: Path, files: dict[str, str]) -> Path:
    defaults = {
        "pyproject.toml": '[tool.millstream]\nname = "p"\n',
        "models/m.sql": "select * from {{ source('s', 't') }}",
        "models/s.yml": "sources: [{name: s, topics: [{name: t, columns: [{name: id, type: bigint}]}]}]\n",
    }
    for path, text in (defaults | files).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def errors(root: Path) -> Sequence[tuple[str, str, str]]:
    try:
        diagnostics = compile_project(root, use_cache=False).diagnostics
    except MillstreamError as error:
        diagnostics = error.diagnostics
    return [(diagnostic.code, str(diagnostic.location), diagnostic.message) for diagnostic in diagnostics]


@pytest.mark.parametrize(
    ("format_", "suffix", "schema", "reason"),
    [
        ("json", "json", JSON_REFERENCES, "more than 20,000 fields"),
        ("json", "json", JSON_PARTS, "more than 20,000 fields"),
        ("json", "json", JSON_DEEP, "nested more than 100 levels deep"),
        ("json", "json", JSON_CHAIN, "nested more than 100 levels deep"),
        ("avro", "avsc", AVRO, "more than 20,000 fields"),
        ("protobuf", "proto", PROTOBUF, "more than 20,000 fields"),
    ],
    ids=["json_references", "json_parts", "json_deep", "json_chain", "avro", "protobuf"],
)
def test_schemas(tmp_path: Path, format_: str, suffix: str, schema: str, reason: str) -> None:
    topic = TOPIC.format(format_, suffix)
    if format_ == "protobuf":
        topic = topic.replace("}", ", message: R}")
    root = project(tmp_path, {"models/s.yml": topic, f"schemas/x.{suffix}": schema})
    ((code, location, message),) = errors(root)
    assert (code, location.rpartition(":")[0]) == ("MS123", "models/s.yml:4")
    assert reason in message


def doubling(select: str, first: str) -> dict[str, str]:
    models = {"models/m0.sql": f"select id, {first} as x from {{{{ source('s', 't') }}}}"}
    for n in range(1, 40):
        models[f"models/m{n}.sql"] = (
            f"{{{{ config(materialized='view') }}}}\n{select} from {{{{ ref('m{n - 1}') }}}}"
        )
    return models


def test_a_struct_with_the_one_before_twice(tmp_path: Path) -> None:
    root = project(tmp_path, doubling("select id, struct(x, x as y) as x", "struct(id as x, id as y)"))
    first, *_ = errors(root)
    assert first == ("MS407", "models/m13.sql:2:12", "the type has more than 20,000 fields within fields")


def test_conditions_over_columns_that_are_computed_from_the_one_before(tmp_path: Path) -> None:
    files = doubling("select id, if(x = 'a', x, concat('b', x)) as x", "cast(id as string)")
    for path in list(files)[1:]:
        files[path] += " where x is not null"
    root = project(tmp_path, files)
    result = CliRunner().invoke(millstream, ["explain", "--select", "m39", "--project-dir", str(root)])
    assert result.exit_code == 0
    assert len(result.stdout) < 1_000_000


def test_keys_of_toml(tmp_path: Path) -> None:
    settings = f'[tool.millstream]\nname = "p"\n[tool.millstream.vars]\n{".".join("a" * 3000)} = 1\n'
    root = project(tmp_path, {"pyproject.toml": settings})
    assert errors(root) == [("MS104", "pyproject.toml:4:1", "lists or tables are nested too deeply")]


def test_a_tag_of_yaml_is_one_error(tmp_path: Path) -> None:
    root = project(
        tmp_path, {"models/m.yml": "models:\n  - {name: !!python/name:os.system , tags: !!set {a}}\n"}
    )
    assert errors(root) == [("MS105", "models/m.yml:2:12", "tag !!python/name:os.system is not allowed")]


@pytest.mark.parametrize(("line", "code"), [("k{}: 1\n", "MS106"), ("version: {}\n", "MS111")])
def test_many_wrong_keys(tmp_path: Path, line: str, code: str) -> None:
    root = project(tmp_path, {"models/m.yml": "".join(map(line.format, range(3000)))})
    assert {diagnostic[0] for diagnostic in errors(root)} >= {code}
    assert len(errors(root)) <= 1001
