"""The causes of an error of Spark: each with Spark's error condition, so that words of a plan decide nothing.

Messages of Spark quote plans, and plans quote the texts that a query would raise. So a text only says why
something failed if the exception that has it was raised for that reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException

RAISED = "USER_RAISED_EXCEPTION"
"""The condition of `raise_error`."""
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR")
"""Conditions of exceptions that only pass on another one, next to the plan of the query."""
_PLANNING = ("PLAN_VALIDATION_FAILED", "INTERNAL_ERROR", "STRUCTURAL_INTEGRITY")
"""Conditions of statements that Spark can't plan; their messages are plans."""
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9]*_[A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_CAUSED_BY = re.compile(r"^Caused by: ", re.MULTILINE)


class Cause(Struct, frozen=True):
    condition: str
    """Spark's error condition; empty if it has none."""
    text: str
    """The class, and the message."""

    @property
    def is_planning(self) -> bool:
        return self.condition.startswith(_PLANNING)


def causes_of(error: BaseException) -> tuple[Cause, ...]:
    """Return an error and what caused it, without those that only quote others next to a plan."""
    try:
        chain = tuple(_chain(error))
    except (Py4JError, OSError):  # the JVM can't be asked any more
        chain = ()
    chain = chain or tuple(_of_text(str(error)))
    return tuple(cause for cause in chain if not cause.condition.startswith(_WRAPPERS)) or chain[:1]


def _chain(error: BaseException) -> Iterator[Cause]:
    throwable: Any = error.java_exception if isinstance(error, Py4JJavaError) else None
    if isinstance(error, CapturedException):
        throwable = error._origin  # noqa: SLF001 -- PySpark has no public way to the exception of Java
        if throwable is None and error._cause is not None:  # noqa: SLF001
            yield from _chain(error._cause)  # noqa: SLF001
            return
    while throwable is not None:
        text = str(throwable.toString())
        condition = _condition(throwable)
        # An exception of a Python callback arrives as text alone.
        yield from [Cause(condition, text)] if condition else _of_text(text)
        throwable = throwable.getCause()


def _condition(throwable: Any) -> str:
    if not is_instance_of(SparkContext._gateway, throwable, "org.apache.spark.SparkThrowable"):  # noqa: SLF001
        return ""
    return str(throwable.getCondition() or "")


def _of_text(text: str) -> Iterator[Cause]:
    """Yield the causes that a text names; the first condition in each says why it was raised."""
    for part in _CAUSED_BY.split(text):
        conditions = [name for name in _CONDITION.findall(part) if not name.startswith(_WRAPPERS)]
        yield Cause(conditions[0] if conditions else "", part)
