"""How functions are called, and how Python functions run, as texts."""

from __future__ import annotations

from millstream.compile.native_functions import translate_function
from millstream.editor.project import EditorProject
from millstream.native import Obstacle
from millstream.project.batch_functions import signature_of
from millstream.project.values import Function
from millstream.sql.python_calls import sql_parameters
from millstream.sql.signatures import FunctionSignature, SignatureParameter


def spark_signatures(signature: FunctionSignature) -> list[str]:
    """Return each form in which a function of Spark can be called."""
    result = "" if signature.result == "unknown" else f" -> {signature.result}"
    return [
        f"{signature.name}({', '.join(map(_parameter, form))}){result}" for form in signature.forms or ((),)
    ]


def _parameter(parameter: SignatureParameter) -> str:
    word = f"{parameter.word}{'…' if parameter.repeated else ''}"
    return f"[{word}]" if parameter.optional else word


def spark_kind(signature: FunctionSignature) -> str:
    """Return what kind of function it is, for readers."""
    kinds = {
        "aggregate": signature.aggregate,
        "window function": signature.window,
        "returns rows": signature.generator,
        "another value at each call": not signature.deterministic,
        "fails on wrong values": signature.raises,
    }
    return ", ".join(kind for kind, holds in kinds.items() if holds)


def python_signature(function: Function) -> str:
    if function.batches:
        return signature_of(function)
    parameters = ", ".join(f"{p.name}: {p.type}" for p in sql_parameters(function))
    returned = f"rows of {function.returns}" if function.table else str(function.returns)
    return f"{function.name}({parameters}) -> {returned}"


def how_it_runs(view: EditorProject, function: Function) -> str:
    """Say whether a function runs natively, or why it does not."""
    translated = translate_function(function, view.text(function.path).content)
    if isinstance(translated, Obstacle):
        where = f" (line {translated.line})" if translated.line else ""
        return f"runs in Python over Arrow batches: {translated.what}{where}"
    return "runs natively in the JVM"
