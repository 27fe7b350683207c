"""Reads the source texts of nodes and functions."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from textwrap import dedent

from millstream.compile.data_tests import QueryTest, RowTest, TotalTest, data_test, sql_name
from millstream.compile.manifest import Compiled, Manifest
from millstream.core.node_id import NodeId
from millstream.project.secrets import MASK, is_secret_setting

_MOST_LINES = 200
_SETTING = re.compile(r"""(?P<name>[\w.-]+:[ ]+)(?P<value>"[^"\n]*"|'[^'\n]*'|[^,{}\[\]\n]+)""")


def written_texts(root: Path, manifest: Manifest) -> dict[NodeId, str]:
    """Return SQL files, and the lines of functions and of tests in YAML, by id."""
    texts: dict[NodeId, str] = {}

    @cache
    def text(path: str) -> str:
        try:
            return (root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""  # removed since the project was compiled

    for id_, node in manifest.nodes.items():
        if node.path.endswith(".sql"):
            texts[id_] = text(node.path)
        elif node.kind in {"test", "unit_test"} and "line" in node.meta:
            texts[id_] = _item(text(node.path), int(node.meta["line"]), climb=node.kind == "unit_test")
    for name, function in manifest.functions.items():
        texts[NodeId("function", name)] = _definition(text(function.path), function.line)
    return texts


def compiled_texts(compilation: Compiled) -> dict[NodeId, str]:
    """Return the SQL of models and data tests by id."""
    tests = (node for node in compilation.manifest.nodes.values() if node.kind == "test")
    return compilation.sql | {node.id: _test_sql(data_test(node, compilation.tests)) for node in tests}


def _test_sql(test: RowTest | TotalTest | QueryTest) -> str:
    match test:
        case RowTest(relation=relation, wrong=wrong):
            return f"select *\nfrom {sql_name(relation)}\nwhere {wrong}"
        case TotalTest(relation=relation, wrong=wrong, report=report):
            return f"select {report}\nfrom {sql_name(relation)}\nhaving {wrong}"
        case QueryTest(sql=sql):
            return sql


def _item(text: str, line: int, *, climb: bool) -> str:
    """Return the lines of the YAML list item at a line, or around it, with secrets masked."""
    lines = text.splitlines()
    if not 0 < line <= len(lines):
        return ""
    first, within = line - 1, _indent(lines[line - 1])
    while climb and first and not _begins_item(lines[first], within):
        first -= 1
    if not _begins_item(lines[first], within):
        return ""
    dash = _indent(lines[first])
    last = first + 1
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > dash):
        last += 1
    item = dedent("\n".join(lines[first : min(last, first + _MOST_LINES)])).rstrip()
    return _SETTING.sub(_masked, item)


def _masked(match: re.Match[str]) -> str:
    value = match["value"].strip(" '\"")
    return f"{match['name']}{MASK}" if is_secret_setting(match["name"].rstrip(": "), value) else match[0]


def _begins_item(line: str, most: int) -> bool:
    return line.lstrip().startswith("- ") and _indent(line) <= most


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _definition(text: str, line: int) -> str:
    """Return the lines of a function, its decorators included."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= (node.end_lineno or first):
                return "\n".join(lines[first - 1 : node.end_lineno])
    return ""
