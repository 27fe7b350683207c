"""The SQL functions that `macros/*.py` define: public top-level functions, with types from their hints.

- A function that yields, hinted `Iterator[X]`, is a table function: the fields of X are its columns, and
  anything but a struct is one column `value`. `Function.returns` is then the struct of one row.
- A function whose parameters are `(key, rows, state)` has keyed state: `rows: Iterator[Row]`, and a
  dataclass (or another struct) for `state`. The parameter `rows` has the type of one row.
- A function that takes a batch of rows (`project/batch_functions.py`) is for models, not for SQL.
- A function with an error is included, with UNKNOWN for types that can't be determined, so that the SQL
  that calls it is checked as far as possible.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from msgspec import structs

from millstream.core import types
from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.core.text import FileText
from millstream.project.batch_functions import batch_function
from millstream.project.changing_calls import changing_call
from millstream.project.digests import FunctionDigests
from millstream.project.imports import imports_of, unknown_in
from millstream.project.python_module import (
    Def,
    Module,
    check_plain,
    first_paragraph,
    is_generator,
    parse_module,
)
from millstream.project.type_hints import Hint, HintReader
from millstream.project.values import Function, FunctionParameter

KEYED = ("key", "rows", "state")
_WORDS = """
all alter analyze and anti any array as begin between bigint binary boolean both by cache case cast char
check collate column commit constraint copy create cross cube current_date current_time
current_timestamp current_user date decimal delete desc describe distinct div double drop else end
escape except exists explain extract false fetch filter float for foreign from full function grant group
grouping having if ilike in inner insert int intersect interval into is join kill lateral leading left
like limit load lock map merge minus natural not null on only or order out outer over overlaps overlay
partition pivot position primary qualify references refresh replace revoke right rlike rollback rollup
rows select semi session_user set show smallint some string struct substring table tablesample then time
timestamp tinyint to trailing trim true truncate uncache union unique unknown unnest unpivot update use
using values varchar when where window with within
"""
RESERVED = frozenset(_WORDS.split())
"""Names that SQL can't call: reserved words and names of types."""


def read_functions(text: FileText) -> tuple[tuple[Function, ...], list[Diagnostic]]:
    module, errors = parse_module(text)
    if module is None:
        return (), errors
    hints, digests = HintReader(module), FunctionDigests(module)
    functions: dict[str, Function] = {}
    for node in module.functions():
        if node.name in functions:
            message = f"the function '{node.name}' is defined twice in this file"
            first = DiagnosticNote("it is first defined here", functions[node.name].location)
            error = module.error(node, "MS311", message, "rename one of them; SQL calls functions by name.")
            errors.append(structs.replace(error, notes=(first,)))
            continue
        errors += _check_name(module, node)
        errors += check_plain(module, node, "the function")
        digest, statements = digests.of(node)
        imports = tuple(dict.fromkeys(imports_of(statements, module.text.path)))
        errors += _unknown(module, statements)
        function = batch_function(module, node, hints, digest) or _function(module, node, hints, digest)
        changing = changing_call(statements)
        functions[node.name] = structs.replace(function, imports=imports, changing=changing)
    errors = [*dict.fromkeys(errors), *hints.errors]  # several functions can use one statement
    return tuple(functions.values()), sorted(errors, key=lambda error: error.order)


def _check_name(module: Module, node: Def) -> Iterator[Diagnostic]:
    """Report a name by which SQL can't call a function without quotes."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", node.name) or node.name in RESERVED:
        message = f"SQL can't call a function '{node.name}' by its name"
        remedy = f"use lower case, digits and `_`, and no reserved word, such as '{_suggestion(node.name)}'."
        yield module.error(node, "MS312", message, remedy)


def _unknown(module: Module, statements: Iterable[ast.stmt]) -> Iterator[Diagnostic]:
    """Warn of calls by which functions can change although their text does not."""
    for call in unknown_in(statements, module.text.path):
        message = f"what `{ast.unparse(call)}` returns or runs can change unnoticed"
        remedy = (
            'write what it reads as a text, as in Path(__file__).parent / "rates.csv"; or rebuild the models '
            "that use it when its content changes."
        )
        yield structs.replace(module.error(call, "MS323", message, remedy), severity="warning")


def _suggestion(name: str) -> str:
    """Return a usable name similar to this one: `parseUserId` → `parse_user_id`, `select` → `select_of`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    snake = re.sub(r"[^a-z0-9_]", "", snake).strip("_")
    if not re.match("[a-z]", snake):
        snake = f"f_{snake}".rstrip("_")
    return f"{snake}_of" if snake in RESERVED else snake


def _function(module: Module, node: Def, hints: HintReader, digest: str) -> Function:
    parameters = tuple(_parameters(module, node, hints))
    keyed = tuple(parameter.name for parameter in parameters) == KEYED
    if keyed:
        _check_keyed(node, hints, parameters)
    returns, table = _returns(module, node, hints, keyed)
    return Function(
        name=node.name,
        path=module.text.path,
        location=module.location(node),
        parameters=parameters,
        returns=returns.type,
        nullable=returns.nullable,
        fields=returns.fields,
        table=table,
        keyed=keyed,
        description=first_paragraph(node),
        digest=digest,
    )


def _parameters(module: Module, node: Def, hints: HintReader) -> Iterator[FunctionParameter]:
    arguments = node.args
    for star, argument in (("*", arguments.vararg), ("**", arguments.kwarg)):
        if argument:
            remedy = "name every parameter, or take one `list[...]` or `dict[str, ...]`."
            message = f"'{node.name}' takes {star}{argument.arg}, but SQL calls it with fixed parameters"
            hints.errors.append(module.error(argument, "MS307", message, remedy))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is None:
            message = f"SQL can't pass '{argument.arg}' of '{node.name}': it is keyword-only"
            remedy = "give it a default, or move it before the `*`."
            hints.errors.append(module.error(argument, "MS307", message, remedy))
    positional = [*arguments.posonlyargs, *arguments.args]
    keyed = tuple(argument.arg for argument in positional) == KEYED
    for index, argument in enumerate(positional):
        required = index < len(positional) - len(arguments.defaults)
        if argument.annotation is None:
            message = f"the parameter '{argument.arg}' of '{node.name}' has no type hint"
            remedy = f"add a hint with a SQL type, such as `{argument.arg}: {_example(argument.arg)}`."
            hints.errors.append(module.error(argument, "MS301", message, remedy))
            yield FunctionParameter(argument.arg, types.UNKNOWN, required=required)
            continue
        hint = argument.annotation
        row = hints.rows(hint) if keyed and argument.arg == "rows" else None
        read = hints.read(row if row is not None else hint)
        yield FunctionParameter(argument.arg, read.type, read.nullable, required, read.fields)


def _example(name: str) -> str:
    return {"rows": "Iterator[Row]", "state": "State"}.get(name, "str")


def _check_keyed(node: Def, hints: HintReader, parameters: tuple[FunctionParameter, ...]) -> None:
    _, rows, state = (argument.annotation for argument in (*node.args.posonlyargs, *node.args.args))
    _, row, state_parameter = parameters
    remedy = "write `rows: Iterator[Row]` with a dataclass, TypedDict or NamedTuple `Row`."
    if rows is not None and hints.rows(rows) is None and row.type != types.UNKNOWN:
        hints.error(rows, "MS317", f"`rows` of '{node.name}' is not an iterator of rows", remedy)
    elif rows is not None and not _is_row(row):
        hints.error(rows, "MS317", f"a row of '{node.name}' is not a struct", remedy)
    if state is not None and not _is_row(state_parameter):
        remedy = "write `state: State` with a dataclass `State` whose fields have defaults."
        hints.error(state, "MS317", f"the state of '{node.name}' is not a struct", remedy)


def _is_row(parameter: FunctionParameter) -> bool:
    return isinstance(parameter.type, types.Row) or parameter.type == types.UNKNOWN


def _returns(module: Module, node: Def, hints: HintReader, keyed: bool) -> tuple[Hint, bool]:
    """Return the type that the function returns (for a table function, of one row), and whether it is one."""
    yielding = "yield" in module.text.content and is_generator(node)
    if node.returns is None:
        message = f"the function '{node.name}' has no return type hint"
        remedy = "add `-> Iterator[Row]:` for what it yields." if yielding else "add one, such as `-> str:`."
        hints.errors.append(module.error(node, "MS302", message, remedy))
        return Hint(types.UNKNOWN), yielding or keyed
    rows = hints.rows(node.returns)
    if rows is not None and not yielding:
        remedy = "yield its rows to make it a table function, or hint `list[...]` for an array."
        hints.error(node.returns, "MS315", f"'{node.name}' returns an iterator but never yields", remedy)
    elif rows is None and (yielding or keyed):
        verb = "yields" if yielding else "takes (key, rows, state)"
        remedy = "write `-> Iterator[X]:`, where X is the type of one row."
        if not hints.optional_rows(node.returns):
            message = f"'{node.name}' {verb}, so it returns an iterator of rows"
            hints.error(node.returns, "MS315", message, remedy)
        else:
            message = f"'{node.name}' yields, so it never returns None"
            hints.error(node.returns, "MS316", message, "remove the `None`.")
        return Hint(types.UNKNOWN), True
    if rows is None:
        return hints.read(node.returns), False
    return _row(rows, hints), True


def _row(rows: ast.expr, hints: HintReader) -> Hint:
    row = hints.read(rows)
    match row.type:
        case types.Row():
            if row.nullable:
                message = "a row can't be NULL"
                hints.error(rows, "MS316", message, "remove the `None`; to return no row, yield nothing.")
            return Hint(row.type)
        case types.Simple(name="unknown"):
            return Hint(types.UNKNOWN)
        case other:
            return Hint(types.Row((types.Field("value", other),)), row.nullable)
