"""Mistakes in Python files: of their tokens, type hints and what runs when they are imported."""

from __future__ import annotations

import io
import re
import tokenize
from random import Random

_ADDED = [
    "import nothing", "raise ValueError('x')", "raise SystemExit(3)", "raise KeyboardInterrupt", "1 / 0", "def f(", "def g(x): return x",
    "def g(x: int): return x", "def g(x: list) -> int: return 1", "def g(*x: int) -> int: return 1", "def g(x: int = 5) -> int: return x",
    "def count(x: int) -> int: return x", "async def g(x: int) -> int: return x", "def g(x: 'nothing') -> int: return 1", "\tx = 1",
    "x: int = '\ud83d'", "from __future__ import nothing", "import os; os.environ['X']", "import sys; sys.exit(4)", "print('x' * 1000)",
    "lambda: (yield)", "return 1", "class A(metaclass=5): pass", "def g(x: int) -> complex: return x", "x = '\\ud800'", "del calculate_score",
    "raise BaseException('x')", "raise RecursionError", "raise MemoryError", "assert False", "open('nothing')", "import threading",
    "def g(x: dict[int]) -> int: return 1", "def g(x: int | str) -> int: return 1", "def g() -> int: return 1", "from . import x",
]  # fmt: skip


def python(text: str, random: Random) -> tuple[str, str]:
    """Return the name of a mistake, and the text with it."""
    match random.choice(["token", "token", "hint", "line", "added", "added", "indent", "cut"]):
        case "token":
            return _token(text, random)
        case "hint":
            hints = [*re.finditer(r"(?:(?<=: )|(?<=-> ))[\w.]+(?:\[[^\]]*\])?", text)]
            if not hints:
                return _token(text, random)
            hint = random.choice(hints)
            other = random.choice(
                [
                    "nothing",
                    "list",
                    "object",
                    "5",
                    "'x",
                    "int |",
                    "tuple[int, ...]",
                    "None",
                    "set[int]",
                    "Any",
                    "x()",
                ]
            )
            return "hint", text[: hint.start()] + other + text[hint.end() :]
        case "line":
            lines = text.splitlines(keepends=True)
            lines.pop(random.randrange(len(lines)))
            return "line_lost", "".join(lines)
        case "added":
            return "added", f"{text}\n{random.choice(_ADDED)}\n".encode("utf-8", "replace").decode()
        case "indent":
            lines = text.splitlines(keepends=True)
            index = random.randrange(len(lines))
            lines[index] = random.choice([f" {lines[index]}", f"\t{lines[index]}", lines[index].lstrip(" ")])
            return "indent", "".join(lines)
        case _:
            return "cut", text[: random.randrange(len(text))]


def _token(text: str, random: Random) -> tuple[str, str]:
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string.strip()]
    token = random.choice(tokens)
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: token.start[0] - 1])) + token.start[1]
    other = random.choice(
        ["", f"{token.string} {token.string}", random.choice(tokens).string, "\u00e9", "?", "5"]
    )
    return "token", text[:start] + other + text[start + len(token.string) :]
