import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import FileText
from millstream.project.yaml import mapping_entries, node_of, node_span, node_value, offset_inside, parse_yaml


def only(content):
    node, diagnostics = parse_yaml(FileText("f.yml", content))
    (diagnostic,) = diagnostics
    return node, diagnostic


def where(diagnostic):
    return diagnostic.location.line, diagnostic.location.column, diagnostic.location.end


@pytest.mark.parametrize(
    ("content", "location", "message"),
    [
        ("a:\n\tb: 1\n", (2, 1, 2), "YAML can't be indented with tabs"),
        ("a: b: c\n", (1, 5, 6), "unexpected ':'"),
        ("a: [1, 2\nb: 3\n", (2, 2, 3), "a list is not closed"),
        ("a: {b: 1\n", (2, 1, 2), "a mapping is not closed"),
        ("a:\n  b: 1\n c: 2\n", (3, 2, 3), "the indentation does not match any key above"),
        ("a: 'x\nb: 2\n", (1, 4, 5), "this quote is never closed"),
        ("a: @x\n", (1, 4, 5), "a value can't start with @"),
        ("a: *x\n", (1, 4, 5), "an alias without an anchor"),
        ("a: 1\n---\nb: 2\n", (2, 1, 2), "a second document begins here"),
        ("é: 😀\nb: \x01\n", (2, 4, 5), "a control character (U+0001)"),
    ],
)
def test_syntax_errors_say_where_and_what(content, location, message):
    node, diagnostic = only(content)
    assert (node, diagnostic.code, where(diagnostic), diagnostic.message) == (
        None,
        "MS105",
        location,
        message,
    )
    assert diagnostic.help


def test_an_empty_file_is_no_mistake():
    assert parse_yaml(FileText("f.yml", "# nothing\n")) == (None, [])


def test_a_key_given_twice_points_at_the_first():
    _, diagnostic = only("a: 1\nb: 2\na: 3\n")
    assert (diagnostic.code, where(diagnostic)) == ("MS111", (3, 1, 2))
    assert (diagnostic.notes[0].location.line, diagnostic.notes[0].location.column) == (1, 1)


@pytest.mark.parametrize("tag", ["!!python/name:os.system", "!mine", "!!binary", "!!set"])
def test_tags_are_refused(tag):
    _, diagnostic = only(f"a: {tag} x\n" if tag != "!!set" else "a: !!set {x}\n")
    assert (diagnostic.code, diagnostic.message) == ("MS105", f"tag {tag} is not allowed")


def test_an_alias_of_itself_is_refused():
    node, diagnostic = only("a: &x [*x]\n")
    assert (node, diagnostic.message) == (None, "an alias contains itself")


def test_aliases_that_grow_without_end_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    node, diagnostic = only("\n".join(lines))
    assert node is None
    assert diagnostic.message.startswith("aliases expand to")


def test_aliases_may_be_shared_within_reason():
    node, diagnostics = parse_yaml(FileText("f.yml", "a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]\n"))
    assert diagnostics == []
    assert node_value(node)["c"] == [{"k": [1, 2]}] * 2


@pytest.mark.parametrize("content", ["[" * 50_000, "- " * 5_000 + "a", "{a: " * 20_000])
def test_nesting_without_end_is_refused_and_does_not_crash(content):
    node, diagnostic = only(content)
    assert (node, diagnostic.code) == (None, "MS105")


def test_half_open_intervals_in_texts_are_no_nesting():
    node, diagnostics = parse_yaml(FileText("f.yml", "\n".join(f"k{i}: 'in [0, {i})'" for i in range(300))))
    assert diagnostics == []
    assert len(node_value(node)) == 300


def test_merge_keys_are_merged_and_own_keys_win():
    node, diagnostics = parse_yaml(
        FileText("f.yml", "x: &a {k: 1, l: 1}\ny: {<<: *a, k: 2}\nz: {<<: [*a, {k: 3, m: 3}]}\n")
    )
    assert diagnostics == []
    assert node_value(node)["y"] == {"k": 2, "l": 1}
    assert node_value(node)["z"] == {"k": 1, "l": 1, "m": 3}


def test_a_template_without_quotes_is_explained_and_read_as_meant():
    node, diagnostic = only("a: {{ var('x') }}\nb: 1\n")
    assert (diagnostic.code, where(diagnostic)) == ("MS105", (1, 4, 18))
    assert diagnostic.message == "a value that starts with {{ needs quotes"
    assert node_value(node) == {"a": "{{ var('x') }}", "b": 1}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("10:30", "10:30"),
        ("2026-01-31", "2026-01-31"),
        ("0x1F", 31),
        ("1e3", "1e3"),
        ("1.5", 1.5),
        ("~", None),
        ("true", True),
        ("=", "="),
        ("._", "._"),
    ],
)
def test_values_are_what_their_writers_meant(written, value):
    node, _ = parse_yaml(FileText("f.yml", f"a: {written}\n"))
    assert node_value(node) == {"a": value}


def test_a_number_that_is_none_is_an_error():
    _, diagnostic = only("a: !!int x\n")
    assert diagnostic.message == "'x' is not a number"


@pytest.mark.parametrize("content", ["? [a]\n: 1\n", "{[a]: 1}\n"])
def test_keys_are_texts(content):
    _, diagnostic = only(content)
    assert diagnostic.message == "a key must be a string"


def test_places_stand_after_characters_that_only_yaml_takes_for_line_ends():
    text = FileText("f.yml", 'a: "x\u2028y"\nb: 😀 z\nc: w\n')
    node, _ = parse_yaml(text)
    start, stop = node_span(text, mapping_entries(node)["c"][1])
    assert text.content[start:stop] == "w"
    assert text.location(start, stop).line == 3


@pytest.mark.parametrize(
    "content",
    [
        "a: struct<x:in>\n",
        "a: 'it''s struct<x: in>'\n",
        'a: "struct<x: in>"\n',
        "a: |\n  struct<\n    x: in\n  >\n",
        "a: |\n  struct<x: in>\n",
    ],
)
def test_a_place_inside_a_text_is_exact(content):
    text = FileText("f.yml", content)
    node, _ = parse_yaml(text)
    value = mapping_entries(node)["a"][1]
    offset = offset_inside(text, value, value.value.index("in"))
    assert content[offset : offset + 2] == "in"


def test_a_place_inside_a_folded_text_is_its_beginning():
    text = FileText("f.yml", 'a: "x\n  y \\t in"\n')
    node, _ = parse_yaml(text)
    value = mapping_entries(node)["a"][1]
    assert offset_inside(text, value, value.value.index("in")) == 3


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_node_of_is_the_inverse_of_plain(value):
    assert node_value(node_of(value)) == value


@given(st.text(alphabet="ab:-[]{}'\"&*!|>#%@`\n\t ,?<=~0é\u2028", max_size=40))
def test_no_text_makes_reading_fail(content):
    text = FileText("f.yml", content)
    node, diagnostics = parse_yaml(text)
    for diagnostic in diagnostics:
        assert diagnostic.code in {"MS105", "MS111"}
        assert diagnostic.location.end > diagnostic.location.column
    if node is not None:
        node_value(node)
