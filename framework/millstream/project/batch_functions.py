"""The functions of `macros/*.py` that write batches of rows: `(rows: pyarrow.Table, batch: Batch) -> None`.

SQL does not call them; a model that is materialized as 'python' names one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millstream.core import types
from millstream.core.errors import Diagnostic
from millstream.project.python_module import Def, Module, first_paragraph
from millstream.project.type_hints import HintReader
from millstream.project.values import Function

BATCH = "millstream.Batch"
TABLE, FRAME = "pyarrow.Table", "pandas.DataFrame"
CLASSES = (TABLE, FRAME)
"""What a function can take the rows as."""
EXAMPLE = "def send_rows(rows: pyarrow.Table, batch: millstream.Batch) -> None:"


def batch_function(module: Module, node: Def, hints: HintReader, digest: str) -> Function | None:
    """Return a function that writes batches, with errors in its signature; None if it is another function."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    classes = [_class(module, hints, argument) for argument in arguments]
    if not {*CLASSES, BATCH}.intersection(classes):
        return None
    hints.errors += _wrong(module, node, hints, classes)
    return Function(
        name=node.name,
        path=module.text.path,
        location=module.location(node),
        parameters=(),
        returns=types.NULL,
        description=first_paragraph(node),
        digest=digest,
        batches=next((name for name in classes if name in CLASSES), TABLE),
    )


def signature_of(function: Function) -> str:
    return f"{function.name}(rows: {function.batches}, batch: {BATCH}) -> None"


def _class(module: Module, hints: HintReader, argument: ast.arg) -> str:
    return "" if argument.annotation is None else module.qualified(hints.resolve(argument.annotation))


def _wrong(module: Module, node: Def, hints: HintReader, classes: list[str]) -> Iterator[Diagnostic]:
    """Yield what differs from the signature of a function that writes batches."""
    remedy = f"write `def {node.name}(rows: {TABLE}, batch: {BATCH}) -> None:`."
    positional = [*node.args.posonlyargs, *node.args.args]
    others = [*node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
    misfits = [
        argument
        for argument, name, fitting in zip(positional, classes, (CLASSES, (BATCH,)), strict=False)
        if name not in fitting
    ]
    if misfits or others or len(positional) != 2:
        message = f"'{node.name}' writes batches, so it takes the rows and the batch"
        yield module.error((*misfits, node)[0], "MS326", message, remedy)
    if node.returns is None or not _is_none(hints.resolve(node.returns)):
        message = f"'{node.name}' writes batches, so it returns None"
        yield module.error(node.returns or node, "MS326", message, remedy)


def _is_none(hint: ast.expr) -> bool:
    return isinstance(hint, ast.Constant) and hint.value is None
