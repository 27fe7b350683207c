"""The Python function that writes the rows of a model: whether the project has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.core.errors import did_you_mean
from millstream.outputs.python.declaration import Python
from millstream.outputs.registry import materialization_of
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.project.batch_functions import EXAMPLE
from millstream.project.values import Function
from millstream.sql.values import InputRelation

_CODE = "MS132"


def wrong_writer(
    config: Mapping[str, Any], relation: InputRelation, functions: Mapping[str, Function]
) -> list[PlanDiagnostic]:
    """Find a model without the function that is to write its rows."""
    stored = materialization_of(relation.id.name, config)
    if not isinstance(stored, Python):
        return []
    writers = {name: function for name, function in functions.items() if function.batches}
    definition = f"write `{EXAMPLE}` into a file such as macros/writers.py"
    if not stored.write:
        named = (
            f"config(write='{next(iter(writers))}')"
            if writers
            else f"{definition}, and set write='send_rows'"
        )
        message = f"'{relation.id.name}' does not say which function writes its rows"
        return [PlanDiagnostic(_CODE, message, f"name it: {named}", relation.id, option="materialized")]
    if stored.write in writers:
        return []
    if stored.write in functions:
        message = f"{stored.write}() is a function for SQL: it does not take a batch of rows"
        remedy = f"let it have the signature `{EXAMPLE.replace('send_rows', stored.write)}`"
    else:
        message = f"the function '{stored.write}' does not exist"
        remedy = did_you_mean(stored.write, writers, definition)
    return [PlanDiagnostic(_CODE, message, remedy, relation.id, option="write")]
