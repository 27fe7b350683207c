"""Reads a unit test from YAML, or returns what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.node_id import NodeId
from millstream.project.references import parse_reference
from millstream.project.values import UnitTest
from millstream.testing.units.convert import WrongValueError, convert_value, to_bytes, to_timestamp
from millstream.testing.units.files import NodePath, YamlFiles
from millstream.testing.units.relations import UnitRelation, UnitRelations
from millstream.testing.units.rows import RowReader
from millstream.testing.units.values import ExpectedRow, Overrides, StepInput, UnitStep, UnitTestCase

DEAD_LETTER = ("key", "value", "reason", "topic")
"""The fields of an expected dead letter."""


def read_unit_test(
    unit: UnitTest, relations: UnitRelations, files: YamlFiles, zone: ZoneInfo
) -> tuple[UnitTestCase | None, list[Diagnostic]]:
    """Return a test, or None and all of its problems."""
    reader = _Reader(files, unit, zone, relations)
    test = reader.test()
    return (test if not reader.diagnostics else None), reader.diagnostics


def read_overrides(body: Mapping[str, Any]) -> Overrides:
    """Return the variables, environment and functions that a test overrides; values are not checked yet."""
    over = body.get("overrides") or {}
    return Overrides(
        vars={**(over.get("vars") or {}), **(body.get("vars") or {})},
        env={name: str(value) for name, value in (over.get("env_vars") or {}).items()},
        functions=dict(over.get("functions") or {}),
    )


class _Reader(RowReader):
    def __init__(self, files: YamlFiles, unit: UnitTest, zone: ZoneInfo, relations: UnitRelations) -> None:
        super().__init__(files, unit, zone)
        self.relations = relations

    def test(self) -> UnitTestCase | None:
        body, model = self.unit.body, NodeId("model", self.unit.model)
        relation = self.relations.find(model)
        if relation is None or model not in self.relations.catalog.models:
            self.report(("model",), "MS656", f"model '{self.unit.model}' is disabled", "enable it")
            return None
        stepped = bool(body.get("steps"))
        step_bodies = (
            [(step, ("steps", i)) for i, step in enumerate(body["steps"])] if stepped else [(body, ())]
        )
        steps = tuple(self._step(step, relation, path) for step, path in step_bodies)
        dead_letters = self._dead_letters(body.get("expect_dead_letters"))
        error = body.get("expect_error")
        if dead_letters is None and not error and all(step.expect is None for step in steps):
            remedy = "write expect: with rows, or expect: [] for none"
            self.report(("name",), "MS652", "nothing is expected", remedy)
        if error and (dead_letters is not None or any(step.expect is not None for step in steps)):
            message = "an error is expected, so no rows are compared"
            self.report(
                ("expect_error",), "MS656", message, "remove the expected rows, or test them apart", key=True
            )
        if stepped and (body.get("given") or body.get("expect") is not None or body.get("at")):
            name = next(key for key in ("given", "expect", "at") if key in body)
            message = f"'{name}' can't be combined with steps"
            self.report((name,), "MS656", message, "move it into a step", key=True)
        return UnitTestCase(
            id=NodeId("unit_test", f"{self.unit.model}.{self.unit.name}"),
            name=self.unit.name,
            model=model,
            location=self._location(("name",)),
            steps=steps,
            chain=self.unit.chain,
            stepped=stepped,
            strict=body.get("strict"),
            functions=self._functions(body),
            now=self._time(body.get("now"), ("now",)),
            dead_letters=dead_letters,
            error=error,
            error_location=self._location(("expect_error",)) if error else None,
        )

    def _step(self, body: Mapping[str, Any], relation: UnitRelation, path: NodePath) -> UnitStep:
        inputs = [
            step_input
            for index, input_body in enumerate(body.get("given") or ())
            if (step_input := self._input(input_body, (*path, "given", index))) is not None
        ]
        expect = body.get("expect")
        expect_path = (*path, "expect")
        return UnitStep(
            tuple(inputs),
            None if expect is None else self.expected(expect, relation, expect_path),
            self._time(body.get("at"), (*path, "at")),
            self._location(expect_path) if expect is not None else None,
        )

    def _input(self, body: Mapping[str, Any], path: NodePath) -> StepInput | None:
        id_ = parse_reference(str(body["input"]))
        relation = self.relations.find(id_, NodeId("model", self.unit.model)) if id_ else None
        if relation is None:
            relations = [*self.relations.catalog.models, *self.relations.catalog.sources]
            remedy = did_you_mean(str(id_ or body["input"]), map(str, relations), "write ref('model')")
            self.report((*path, "input"), "MS654", f"'{body['input']}' is not a relation", remedy)
            return None
        if body.get("fixture"):
            return StepInput(relation.id, self.given_rows(body, relation, path))
        return StepInput(relation.id, self.given_rows(body.get("rows"), relation, (*path, "rows")))

    def _time(self, value: Any, path: NodePath) -> datetime | None:
        if value is None:
            return None
        try:
            return to_timestamp(value, self.zone)
        except WrongValueError as error:
            self.report(path, "MS656", str(error), error.remedy)
            return None

    def _dead_letters(self, body: Any) -> tuple[ExpectedRow, ...] | None:
        if body is None:
            return None
        rows = []
        for fields, path, _ in self._row_bodies(body, ("expect_dead_letters",)):
            unknown = next((name for name in fields if name not in DEAD_LETTER), None)
            if unknown is not None:
                remedy = did_you_mean(unknown, DEAD_LETTER, f"fields: {', '.join(DEAD_LETTER)}")
                message = f"a dead letter has no field '{unknown}'"
                self.report((*path, unknown), "MS650", message, remedy, key=True)
                continue
            values = {
                name: (None if value is None else to_bytes(value) if name in {"key", "value"} else str(value))
                for name, value in fields.items()
            }
            rows.append(ExpectedRow(values, self._location(path)))
        return tuple(rows)

    def _functions(self, body: Mapping[str, Any]) -> dict[str, Any]:
        functions: dict[str, Any] = {}
        declared = self.relations.catalog.functions
        for name, value in read_overrides(body).functions.items():
            path = ("overrides", "functions", name)
            if name not in declared:
                remedy = did_you_mean(name, declared, "define it in macros/*.py")
                self.report(path, "MS656", f"there is no Python function '{name}'", remedy, key=True)
            elif declared[name].keyed:
                message = f"'{name}' is a keyed function, which can't be replaced"
                self.report(path, "MS656", message, "give the rows of the model that calls it", key=True)
            else:
                functions[name] = self._returned(name, value, path)
        return functions

    def _returned(self, name: str, value: Any, path: NodePath) -> Any:
        function = self.relations.catalog.functions[name]
        try:
            if function.table:
                return [convert_value(row, function.returns, self.zone) for row in value]
            return convert_value(value, function.returns, self.zone)
        except (WrongValueError, TypeError) as error:
            remedy = getattr(error, "remedy", "write a list")
            self.report(path, "MS651", f"value of {name}(): {error}", remedy)
            return None
