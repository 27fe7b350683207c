"""Places of TOML keys, compared with what Python reads."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.project.toml_positions import toml_positions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONTENT = '''\
# [no.table]
top = 1
[tool . millstream]   # a comment
name = "a # b"
"quoted.key" = 'c'
text = """
[tool.millstream]
name = 3"""
when = 2024-01-01 10:00:00
inline = { a.b = 1, c = [ { d = "]" }, [2] ] }
list = [
  "x", # one
  'y',
]
[[tool.other]]
e = true
'''


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ("top", "top", "1"),
        ("tool millstream", "tool . millstream", "tool . millstream"),
        ("tool millstream name", "name", '"a # b"'),
        ("tool millstream quoted.key", '"quoted.key"', "'c'"),
        ("tool millstream when", "when", "2024-01-01 10:00:00"),
        ("tool millstream inline a b", "a.b", "1"),
        ("tool millstream inline c 0 d", "d", '"]"'),
        ("tool millstream inline c 1 0", "2", "2"),
        ("tool millstream list 1", "'y'", "'y'"),
        ("tool other e", "e", "true"),
    ],
)
def test_keys_and_values_are_found(path: str, key: str, value: str) -> None:
    position = toml_positions(CONTENT)[tuple(path.split())]
    assert (CONTENT[slice(*position.key)], CONTENT[slice(*position.value)]) == (key, value)


def test_what_stands_in_texts_and_comments_is_no_key() -> None:
    positions = toml_positions(CONTENT)
    assert ("no", "table") not in positions
    assert CONTENT[: positions["tool", "millstream", "name"].key[0]].count("\n") == 3


WORDS = st.text("abc-_1", min_size=1, max_size=3)
BLANKS = st.sampled_from(["", " ", "\n# a ] comment }\n", "\t"])


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> str:
    kinds = ["text", "literal", "long", "number", "date", *(["list", "table"] if depth else [])]
    match draw(st.sampled_from(kinds)):
        case "text":
            return draw(st.sampled_from(['"a"', r'"\"]"', '"# no = 1"', '""', r'"\\"']))
        case "literal":
            return draw(st.sampled_from(["'a'", "'\\'", "''", "'''a\n'b = 1\n'''"]))
        case "long":
            return draw(st.sampled_from(['"""a\nb = 1\n"""', '""""a""""', '"""\\\n x"""', '""""""']))
        case "number":
            return draw(st.sampled_from(["1", "-1.5e3", "true", "inf", "0x1F"]))
        case "date":
            return draw(st.sampled_from(["2024-01-01", "2024-01-01 10:00:00", "10:00:00"]))
        case "list":
            items = draw(st.lists(values(depth=depth - 1), max_size=3))
            return "[" + ",".join(draw(BLANKS) + item + draw(BLANKS) for item in items) + "]"
        case _:
            keys = draw(st.lists(WORDS, max_size=3, unique=True))
            return "{ " + ", ".join(f"{key} = {draw(values(depth=depth - 1))}" for key in keys) + " }"


@given(st.dictionaries(WORDS, values(), max_size=4), WORDS)
def test_every_value_stands_where_it_is_said_to(pairs: dict[str, str], table: str) -> None:
    content = f"[{table}]\n" + "".join(f"{key} = {value} # x\n" for key, value in pairs.items())
    document, positions = tomllib.loads(content), toml_positions(content)

    def check(value: object, path: tuple[str, ...]) -> None:
        start, stop = positions[path].value
        assert tomllib.loads(f"v = {content[start:stop]}") == {"v": value}
        below = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, child in below:
            check(child, (*path, str(key)))

    for key, value in document[table].items():
        check(value, (table, key))
