"""The check of names in CI: it finds a word to avoid in whatever way a name is given."""

import runpy
from pathlib import Path

import pytest

CHECK = runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "words.py"))
GLOSSARY = """
| word | is | avoid |
|---|---|---|
| location | a file, line and column | place, at rest |
"""

BINDINGS = (
    "found = 1",
    "found: int = 1",
    "found += 1",
    "_found = 1",
    "FOUND = 1",
    "(first, *found) = rows",
    "(found := 1)",
    "rows.found = 1",
    "for found in rows: pass",
    "[found for found in rows]",
    "with rows as found: pass",
    "import rows as found",
    "from rows import row as found",
    "def found(): pass",
    "async def found(): pass",
    "def row(found): pass",
    "def row(*found): pass",
    "def row(*, found): pass",
    "def row(**found): pass",
    "lambda found: 1",
    "class Found: pass",
    "class Row:\n    found: int",
    "try: pass\nexcept OSError as found: pass",
    "match row:\n    case found: pass",
    "match row:\n    case [*found]: pass",
    "match row:\n    case {**found}: pass",
    "match row:\n    case Row(id=found): pass",
)


@pytest.mark.parametrize("code", BINDINGS)
def test_each_binding_is_checked(code):
    wrong = list(CHECK["wrong_names"](code, frozenset(("found",))))
    assert [name.strip("_").lower() for _, name in wrong] == ["found"]
    assert wrong[0][0] <= len(code.splitlines())


@pytest.mark.parametrize(
    "code",
    ["found_rows = 1", "print(found)", "rows.found()", "row(found=1)", "found = 1  # name: of the API"],
)
def test_uses_longer_names_and_reasons_are_not(code):
    assert list(CHECK["wrong_names"](code, frozenset(("found",)))) == []


def test_java_is_checked():
    code = 'int found = 1; // found\nrow.found();\nString text = "found";'
    assert list(CHECK["wrong_names"](code, frozenset(("found",)), ".java")) == [(1, "found")]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("const found = 1;", [1]),
        ("const {found, rows} = site;", [1]),
        ("rows.map((found) => found + 1);", [1]),
        ("function row(\n  found) {}", [2]),
        ("row.found = other?.found; // found\n/* found */", []),
        ("const text = 'found' + \"found\" + `found`;", []),
        ("const pattern = /found'/; row(/[/\"]found/, 1);", []),
        ("row(...found)", [1]),
    ],
)
def test_javascript_is_checked(code, lines):
    assert [line for line, _ in CHECK["wrong_names"](code, frozenset(("found",)), ".js")] == lines


def test_words_of_the_glossary_are_avoided():
    words = CHECK["words_to_avoid"](GLOSSARY)
    assert {"place", "each", "things"} <= words
    assert words.isdisjoint(("avoid", "location", "at rest"))


def test_public_classes_are_compared():
    code = "class Row: pass\nclass _Row: pass\nclass Union: pass  # name: of SQL"
    assert list(CHECK["class_names"](code)) == [(1, "Row")]
