"""No text recommends a command that removes data without saying that it does."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import millstream

PACKAGE = Path(millstream.__file__).parent
DESTRUCTIVE = re.compile(
    r"millstream\s+clean\b(?!\s+--(?:orphans|artifacts))|--full-refresh|environment drop|drop --yes"
)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module as they are shown; of codes, that of each code."""
    inside = {
        id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values
    }
    inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (value.value if isinstance(value, ast.Constant) else "…" for value in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield from (
                (node.lineno, part) for part in re.split(r"^(?=MS\d{3} )", node.value, flags=re.MULTILINE)
            )


def unsaid(source: str) -> list[int]:
    """Return the lines of texts that recommend such a command and don't say what it removes."""
    return [
        line
        for line, text in texts(ast.parse(source))
        if DESTRUCTIVE.search(text) and not text.startswith("--") and not re.search(r"[Rr]emove", text)
    ]


def test_remedies_say_what_their_commands_remove():
    # Commands declare their own options and examples.
    files = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "cli/commands"]
    locations = [f"{path.relative_to(PACKAGE)}:{line}" for path in files for line in unsaid(path.read_text())]
    assert locations == []


def test_such_a_remedy_is_found():
    assert unsaid('remedy = "start over with `millstream clean`"') == [1]
    assert unsaid('f"build {name} " "with --full-refresh"') == [1]
    assert unsaid('"""MS100 A\\n    Use `millstream clean`.\\nMS101 B\\n    Remove it.\\n"""; X = 1') == []
    assert unsaid('C = read("MS100 A\\n    Use `millstream clean`.\\nMS101 B\\n    Remove it.\\n")') == [1]
    assert unsaid('"see `millstream clean --orphans`"') == []
