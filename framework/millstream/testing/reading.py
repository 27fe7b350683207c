"""A unit test as YAML writes it becomes one that can be run, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from millstream.errors import Diagnostic, did_you_mean
from millstream.project.references import reference
from millstream.project.values import UnitTest as Written
from millstream.testing.places import Path_, Places
from millstream.testing.relations import Relation, Relations
from millstream.testing.rows import RowReader
from millstream.testing.typed import WrongValueError, binary, instant, typed
from millstream.testing.values import ExpectedRow, Given, Stands, Step, UnitTest

LETTER = ("key", "value", "reason", "topic")
"""What can be expected of a dead letter."""


def read_unit_test(
    written: Written, relations: Relations, places: Places, zone: ZoneInfo
) -> tuple[UnitTest | None, list[Diagnostic]]:
    """Return a test and everything that is wrong with it."""
    reader = _Reader(places, written, zone, relations)
    found = reader.test()
    return (found if not reader.problems else None), reader.problems


def stands_of(body: Mapping[str, Any]) -> Stands:
    """Return what stands in for variables, environment and functions; values are not checked yet."""
    over = body.get("overrides") or {}
    return Stands(
        vars={**(over.get("vars") or {}), **(body.get("vars") or {})},
        env={name: str(value) for name, value in (over.get("env_vars") or {}).items()},
        functions=dict(over.get("functions") or {}),
    )


class _Reader(RowReader):
    def __init__(self, places: Places, unit: Written, zone: ZoneInfo, relations: Relations) -> None:
        super().__init__(places, unit, zone)
        self.relations = relations

    def test(self) -> UnitTest | None:
        body, model = self.unit.body, f"model.{self.unit.model}"
        relation = self.relations.find(model)
        if relation is None or model not in self.relations.catalog.models:
            self.problem(("model",), "MS656", f"model '{self.unit.model}' is disabled", "enable it")
            return None
        stepped = bool(body.get("steps"))
        steps = self._steps(body, relation) if stepped else (self._step(body, relation, ()),)
        letters = self._letters(body.get("expect_dead_letters"))
        error = body.get("expect_error")
        if letters is None and not error and all(step.expect is None for step in steps):
            self.problem(
                ("name",), "MS652", "nothing is expected", "write expect: with rows, or expect: [] for none"
            )
        if stepped and (body.get("given") or body.get("expect") is not None or body.get("at")):
            name = next(key for key in ("given", "expect", "at") if key in body)
            self.problem((name,), "MS656", f"'{name}' stands beside steps", "move it into a step", key=True)
        return UnitTest(
            id=f"unit_test.{self.unit.model}.{self.unit.name}",
            name=self.unit.name,
            model=model,
            location=places_of(self.places, self.unit),
            steps=steps,
            chain=self.unit.chain,
            stepped=stepped,
            strict=body.get("strict"),
            stands=self._stands(body),
            now=self._time(body.get("now"), ("now",)),
            letters=letters,
            error=error,
            error_location=self._place(("expect_error",)) if error else None,
        )

    def _steps(self, body: Mapping[str, Any], relation: Relation) -> tuple[Step, ...]:
        return tuple(self._step(step, relation, ("steps", index)) for index, step in enumerate(body["steps"]))

    def _step(self, said: Mapping[str, Any], relation: Relation, path: Path_) -> Step:
        given = [
            found
            for index, each in enumerate(said.get("given") or ())
            if (found := self._input(each, (*path, "given", index))) is not None
        ]
        wanted = said.get("expect")
        where = (*path, "expect")
        return Step(
            tuple(given),
            None if wanted is None else self.expected(wanted, relation, where),
            self._time(said.get("at"), (*path, "at")),
            self._place(where) if wanted is not None else None,
        )

    def _input(self, said: Mapping[str, Any], path: Path_) -> Given | None:
        id_ = reference(str(said["input"]))
        relation = self.relations.find(id_) if id_ else None
        if relation is None:
            known = [*self.relations.catalog.models, *self.relations.catalog.topics]
            close = did_you_mean(id_ or str(said["input"]), known, "write ref('model')")
            self.problem((*path, "input"), "MS654", f"'{said['input']}' is no relation", close)
            return None
        rows = said if said.get("fixture") else said.get("rows")
        where = path if said.get("fixture") else (*path, "rows")
        return Given(relation.id, self.given(rows, relation, where))

    def _time(self, said: Any, path: Path_) -> datetime | None:
        if said is None:
            return None
        try:
            return instant(said, self.zone)
        except WrongValueError as error:
            self.problem(path, "MS656", str(error), error.remedy)
            return None

    def _letters(self, said: Any) -> tuple[ExpectedRow, ...] | None:
        if said is None:
            return None
        path: Path_ = ("expect_dead_letters",)
        found = []
        for values, where, _ in self._listed(said, path):
            unknown = next((name for name in values if name not in LETTER), None)
            if unknown is not None:
                remedy = did_you_mean(unknown, LETTER, f"say {', '.join(LETTER)}")
                message = f"a dead letter has no '{unknown}'"
                self.problem((*where, unknown), "MS650", message, remedy, key=True)
                continue
            made = {
                name: (None if value is None else binary(value) if name in {"key", "value"} else str(value))
                for name, value in values.items()
            }
            found.append(ExpectedRow(made, self._place(where)))
        return tuple(found)

    def _stands(self, body: Mapping[str, Any]) -> Stands:
        found = stands_of(body)
        functions: dict[str, Any] = {}
        known = self.relations.catalog.functions
        for name, value in found.functions.items():
            path = ("overrides", "functions", name)
            if name not in known:
                remedy = did_you_mean(name, known, "define it in macros/*.py")
                self.problem(path, "MS656", f"there is no Python function '{name}'", remedy, key=True)
            elif known[name].keyed:
                message = f"'{name}' keeps state by key, and nothing can stand in for it"
                self.problem(path, "MS656", message, "give the rows of the model that calls it", key=True)
            else:
                functions[name] = self._returned(name, value, path)
        return Stands(found.vars, found.env, functions)

    def _returned(self, name: str, value: Any, path: Path_) -> Any:
        function = self.relations.catalog.functions[name]
        try:
            if function.table:
                return [typed(each, function.returns, self.zone) for each in value]
            return typed(value, function.returns, self.zone)
        except (WrongValueError, TypeError) as error:
            self.problem(path, "MS651", f"{name}() gives: {error}", getattr(error, "remedy", "write a list"))
            return None


def places_of(places: Places, unit: Written) -> Any:
    """Return where the name of a test stands."""
    return places.location(unit, ("name",))
