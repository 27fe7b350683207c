"""What is known of the name under the mouse: type, description, lineage, how it runs."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.compile.manifest import Influence, ManifestColumn, ManifestNode
from millstream.core.node_id import NodeId
from millstream.core.types import UNKNOWN
from millstream.editor.configuration import model_options
from millstream.editor.functions import how_it_runs, python_signature, spark_kind, spark_signatures
from millstream.editor.plan_facts import facts_of
from millstream.editor.project import EditorProject
from millstream.editor.symbols import (
    ColumnSymbol,
    FunctionSymbol,
    LocalSymbol,
    MacroSymbol,
    NodeSymbol,
    SymbolAt,
    symbol_at,
)
from millstream.editor.templates import open_call, word_at
from millstream.editor.values import Cursor, HoverText
from millstream.sql.signatures import load_signatures

_MOST_COLUMNS = 30


def describe(view: EditorProject, cursor: Cursor) -> HoverText | None:
    """Return what is known of what is at the cursor."""
    at_cursor = symbol_at(view, cursor)
    if at_cursor is None:
        return _option(cursor)
    markdown = _markdown(view, at_cursor)
    return HoverText(markdown, at_cursor.location) if markdown else None


def _markdown(view: EditorProject, at_cursor: SymbolAt) -> str:
    match at_cursor.symbol:
        case NodeSymbol(id=id_):
            return describe_node(view, id_)
        case ColumnSymbol(node=node, column=column):
            return describe_column(view, node, column, at_cursor)
        case LocalSymbol():
            return _local(at_cursor)
        case MacroSymbol(name=name):
            return describe_macro(view, name)
        case FunctionSymbol(name=name):
            return describe_function(view, name)


def _option(cursor: Cursor) -> HoverText | None:
    """Describe an option of `config()`."""
    word, _, stop = word_at(cursor.content, cursor.offset)
    call = open_call(Cursor(cursor.path, cursor.content, stop))
    option = model_options().get(word) if call is not None and call.name == "config" else None
    if option is None or not cursor.content[stop:].lstrip().startswith("="):
        return None
    values = f"\n\nOne of {', '.join(f'`{value}`' for value in option.values)}" if option.values else ""
    return HoverText(f"`{word}`: {option.description}{values}")


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _type(type_: str, *, nullable: bool) -> str:
    return f"`{type_}`{'' if nullable else ', not NULL'}"


# -- relations


def describe_node(view: EditorProject, id_: NodeId) -> str:
    """Describe a model, source or seed with its columns."""
    node = view.compiled.manifest.nodes.get(id_)
    if node is None:
        return f"**{id_.name}**: a {id_.kind} with errors"
    kind = node.config.get("materialized") if node.kind == "model" else node.config.get("kind")
    heading = f"**{id_.name}**: {node.kind}{f', {kind}' if kind else ''}"
    facts = facts_of(view)
    about = facts.get(id_, ()) if facts is not None else ()
    owner = f"Owner: {node.owner}" if node.owner else ""
    return _paragraphs(heading, node.description, *about, owner, _columns(node))


def _columns(node: ManifestNode) -> str:
    if not node.columns:
        return ""
    rows = [f"| `{c.name}` | {_type(c.type, nullable=c.nullable)} | {_cell(c)} |" for c in node.columns]
    left = len(rows) - _MOST_COLUMNS
    more = [f"\n… and {left} more columns"] if left > 0 else []
    return "\n".join(("| column | type | |", "|---|---|---|", *rows[:_MOST_COLUMNS], *more))


def _cell(column: ManifestColumn) -> str:
    return column.description.partition("\n")[0].replace("|", "\\|")


# -- columns


def describe_column(view: EditorProject, node: NodeId, column: str, at_cursor: SymbolAt) -> str:
    """Describe a column: its type where it is used, and what its relation says of it."""
    manifest_node = view.compiled.manifest.nodes.get(node)
    columns = manifest_node.columns if manifest_node else ()
    declared = next((c for c in columns if c.name.lower() == column.lower()), None)
    name = at_cursor.name
    if name is not None and name.type != UNKNOWN:
        type_ = _type(str(name.type), nullable=name.nullable)
    elif declared is not None:
        type_ = _type(declared.type, nullable=declared.nullable)
    else:
        type_ = "of unknown type"
    heading = f"**{column}**: {type_}"
    if declared is None:
        return _paragraphs(heading, f"a column of `{node}`")
    tests = f"Tests: {', '.join(declared.tests)}" if declared.tests else ""
    origins = _origins(declared.influences)
    return _paragraphs(heading, f"a column of `{node}`", declared.description, origins, tests)


def _origins(influences: Iterable[Influence]) -> str:
    origins = [f"`{i.relation}.{i.column}`{' (computed)' * (i.kind == 'computed')}" for i in influences]
    return f"From {', '.join(origins)}" if origins else ""


def _local(at_cursor: SymbolAt) -> str:
    name = at_cursor.name
    if name is None:
        return ""
    if name.kind == "cte":
        return f"**{name.name}**: a CTE of this model"
    type_ = "of unknown type" if name.type == UNKNOWN else _type(str(name.type), nullable=name.nullable)
    return f"**{name.name}**: {type_}"


# -- calls


def describe_macro(view: EditorProject, name: str) -> str:
    macro = view.models.renderer.library.macros[name]
    return f"```jinja\n{name}({', '.join(macro.parameters)})\n```\n\na macro of `{macro.path}`"


def describe_function(view: EditorProject, name: str) -> str:
    """Describe a function of the project or of Spark."""
    if function := view.project.functions.get(name):
        runs = how_it_runs(view, function)
        signature = f"```python\n{python_signature(function)}\n```"
        return _paragraphs(signature, function.description, f"{function.path}: {runs}")
    signature_of_spark = load_signatures().get(name)
    if signature_of_spark is None:
        return ""
    forms = "\n".join(spark_signatures(signature_of_spark))
    return _paragraphs(f"```sql\n{forms}\n```", spark_kind(signature_of_spark), "a function of Spark")
