from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import Meta

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import FileText
from millstream.project.schema import RawValue, Shape, ShapeReader
from millstream.project.secrets import Secret
from millstream.project.yaml import parse_yaml


class Inner(Shape):
    column: str
    delay: str = "1 hour"


class Outer(Shape):
    words: ClassVar[dict[str, str]] = {"tables": "write topics"}

    name: str
    kind: Literal["view", "sink"] = "view"
    count: Annotated[int, Meta(ge=1, title="a whole number from 1")] = 1
    share: float = 1.0
    on: bool = False
    tags: str | list[str] = []
    inner: Inner | str | None = None
    several: list[Inner] = []
    options: dict[str, Any] = {}
    limits: dict[str, int] = {}
    note: Annotated[str, Meta(extra={"verbatim": True})] = ""
    raw: RawValue | None = None
    maybe: int | None = None


def read(content, render=None):
    text = FileText("f.yml", content)
    node, diagnostics = parse_yaml(text)
    assert diagnostics == []
    reader = ShapeReader(text, render)
    return reader.read(node, Outer), reader.diagnostics


def wrong(content, render=None):
    _, (diagnostic,) = read(content, render)
    line = content.split("\n")[diagnostic.location.line - 1]
    return (
        diagnostic.code,
        line[diagnostic.location.column - 1 : diagnostic.location.end - 1],
        diagnostic.message,
        diagnostic.help,
    )


def test_what_fits_is_read_with_its_places():
    shape, diagnostics = read("name: a\ncount: 3\ninner:\n  column: c\nseveral:\n- {column: d}\n")
    assert diagnostics == []
    assert (shape.name, shape.count, shape.inner.column, shape.several[0].delay) == ("a", 3, "c", "1 hour")
    assert (shape.locations["count"].line, shape.locations["count"].column) == (2, 8)
    assert (shape.inner.location.line, shape.inner.locations["column"].column) == (4, 11)
    assert "delay" not in shape.inner.locations


@pytest.mark.parametrize(
    ("content", "code", "marked", "message", "remedy"),
    [
        ("name: a\nkidn: x", "MS106", "kidn", "unknown key 'kidn'", "did you mean 'kind'?"),
        ("name: a\ntables: []", "MS106", "tables", "unknown key 'tables'", "write topics"),
        ("kind: view", "MS108", "kind: view", "'name' is missing", "add `name: …`"),
        (
            "name: a\nkind: snik",
            "MS107",
            "snik",
            "'kind' must be one of view, sink, not 'snik'",
            "did you mean 'sink'?",
        ),
        (
            "name: a\ncount: x1",
            "MS107",
            "x1",
            "'count' must be a whole number from 1, not 'x1'",
            "write a whole number",
        ),
        (
            "name: a\ncount: 0",
            "MS107",
            "0",
            "'count' must be a whole number from 1, not '0'",
            "write a whole number",
        ),
        (
            "name: a\ncount: yes",
            "MS107",
            "yes",
            "'count' must be a whole number from 1, not 'yes'",
            "write a whole number",
        ),
        ("name: a\nshare: [1]", "MS107", "[1]", "'share' must be a number, not a list", "write a number"),
        ("name: a\non: 1", "MS107", "1", "'on' must be true or false, not '1'", "write true or false"),
        ("name: no", "MS107", "no", "'name' must be a string, not 'no'", "put it in quotes: 'no'"),
        ("name:\nkind: view", "MS107", "", "'name' must be a string, not nothing", "write a string"),
        (
            "name: a\ntags: {a: 1}",
            "MS107",
            "{a: 1}",
            "'tags' must be a string or a list, not a mapping",
            "write a string or a list",
        ),
        ("name: a\ninner: {delay: x}", "MS108", "{delay: x}", "'column' is missing", "add `column: …`"),
        ("name: a\nseveral: x", "MS107", "x", "'several' must be a list, not 'x'", "write several: [ … ]"),
        (
            "name: a\nseveral: [x]",
            "MS107",
            "x",
            "expected a mapping, not 'x'",
            "write column: …, delay: …",
        ),
        (
            "name: a\nlimits: {a: x}",
            "MS107",
            "x",
            "'a' must be a whole number, not 'x'",
            "write a whole number",
        ),
    ],
)
def test_mistakes_are_told_at_the_value_or_the_key(content, code, marked, message, remedy):
    report = wrong(content)
    assert (report[0], report[2], report[3]) == (code, message, remedy)
    assert report[1] == marked


def test_all_mistakes_are_told_at_once():
    _, diagnostics = read("nmae: a\nkind: x\ninner: {colum: c}\nseveral: [{}, {column: 1, delay: []}]\n")
    assert [diagnostic.code for diagnostic in diagnostics] == [
        "MS106",
        "MS107",
        "MS106",
        "MS108",
        "MS107",
    ]


def test_a_misspelt_key_is_not_missing_too():
    _, diagnostics = read("nmae: a\n")
    assert [diagnostic.code for diagnostic in diagnostics] == ["MS106"]


def test_numbers_may_be_texts_and_whole_numbers_shares():
    shape, diagnostics = read("name: 007\nshare: 1\ntags: 2026\n")
    assert diagnostics == []
    assert (shape.name, shape.share, shape.tags) == ("007", 1.0, "2026")


def test_keys_with_nothing_behind_them_are_empty_lists_and_mappings():
    shape, diagnostics = read("name: a\nseveral:\noptions:\nmaybe:\n")
    assert diagnostics == []
    assert (shape.several, shape.options, shape.maybe) == ([], {}, None)


def test_a_union_takes_the_short_and_the_long_form():
    assert read("name: a\ninner: c")[0].inner == "c"
    assert read("name: a\ninner: {column: c}")[0].inner.column == "c"


def test_merged_keys_count_as_given():
    text = FileText("f.yml", "a: &a {column: c}\nb: {<<: *a, delay: x}\n")
    node, _ = parse_yaml(text)
    reader = ShapeReader(text)
    inner = reader.read(node.value[1][1], Inner)
    assert (inner.column, inner.delay, reader.diagnostics) == ("c", "x", [])


def render(text):
    match text:
        case "{{ n }}":
            return 3
        case "{{ secret }}":
            return Secret("hidden")
        case "{{ list }}":
            return ["a", "b"]
        case _:
            raise MillstreamError(
                Diagnostic("MS114", "environment variable 'X' is not set", None, "export it")
            )


def test_templates_are_rendered_and_typed():
    shape, diagnostics = read(
        'name: "{{ n }}"\ncount: "{{ n }}"\nmaybe: "{{ n }}"\ntags: "{{ list }}"\n', render
    )
    assert diagnostics == []
    assert (shape.name, shape.count, shape.maybe, shape.tags) == ("3", 3, 3, ["a", "b"])


def test_a_template_of_the_wrong_type_is_told_at_its_place():
    report = wrong('name: a\ncount: "{{ list }}"', render)
    assert (report[0], report[1]) == ("MS107", '"{{ list }}"')


def test_verbatim_texts_are_no_templates():
    assert read('name: a\nnote: "{{ unknown }}"', render)[0].note == "{{ unknown }}"


def test_what_rendering_says_is_told_at_the_value():
    assert wrong('name: "{{ x }}"', render) == (
        "MS114", '"{{ x }}"', "environment variable 'X' is not set", "export it",
    )  # fmt: skip


def test_a_secret_is_a_text_and_stays_one():
    assert read('name: "{{ secret }}"\ninner: "{{ secret }}"', render)[0].name == Secret("hidden")


def test_values_inside_free_mappings_are_rendered():
    assert read('name: a\noptions: {a: ["{{ n }}"]}', render)[0].options == {"a": [3]}
