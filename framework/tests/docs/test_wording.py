"""Texts that users read have no words for which plain English has a usual one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from example.generated import ROOT

import millstream

PACKAGE = Path(millstream.__file__).parent
INSTEAD = {
    r"anew": "again, rebuild",
    r"mend(?:s|ed|ing)?": "fix",
    r"tells?|told": "report, show",
    r"beside": "alongside, next to",
    r"nobody": "name who, or use the passive voice",
    r"whoever": "who",
    r"the way of": "path, flow",
    r"made of": "built from",
    r"comes to": "gains, adds",
    r"it died": "died",
    r"created again": "recreated",
}
AVOIDED = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.IGNORECASE)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(PACKAGE / "cli/templates").rglob("*.md")]


def texts(source: str, *, commands: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that users may see; the docstrings of `commands` are their help."""
    tree = ast.parse(source)
    hidden = {
        id(statement.value)
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Expr) and not commands
    }
    for node in ast.walk(tree):
        # What has no blank is a name, not a text.
        if isinstance(node, ast.Constant) and " " in str(node.value) and id(node) not in hidden:
            yield node.lineno, str(node.value)


def found_in(path: str, lines: Iterator[tuple[int, str]]) -> list[str]:
    return [f"{path}:{number}: {match[0]}" for number, text in lines for match in AVOIDED.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_none_of_them(page):
    text = page.read_text(encoding="utf-8")
    if page.name == "glossary.md":
        text = re.sub(
            r"\|[^|\n]*\|$", "|", text, flags=re.MULTILINE
        )  # the column of words that others replace
    lines = (re.sub(r"`[^`]*`", "", line) for line in text.splitlines())
    assert found_in(page.name, enumerate(lines, 1)) == []


def test_messages_have_none_of_them():
    matches = []
    for path in PACKAGE.rglob("*.py"):
        source, commands = path.read_text(encoding="utf-8"), path.parent == PACKAGE / "cli/commands"
        matches += found_in(str(path.relative_to(PACKAGE)), texts(source, commands=commands))
    assert matches == []


def test_such_a_word_is_found():
    source = 'def command():\n    """Tells all."""\n    say(f"{name} is rebuilt anew; nobody knows")\n'
    assert found_in("x", texts(source, commands=False)) == ["x:3: anew", "x:3: nobody"]
    assert found_in("x", texts(source, commands=True)) == ["x:2: Tells", "x:3: anew", "x:3: nobody"]
