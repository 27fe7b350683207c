"""What tests in Python are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream.errors import MillstreamError
from millstream.project.references import reference
from millstream.project.values import UnitTest as Written
from millstream.testing.bed import Bed
from millstream.text import Location

Rows = Sequence[Mapping[str, Any]]


class RunModel:
    """Runs a model over rows: `run_model("+daily_totals", inputs={"source('shop', 'events')": [{…}]})`."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed

    def __call__(
        self,
        name: str,
        inputs: Mapping[str, Rows],
        *,
        at: str | None = None,
        now: str | None = None,
        vars: Mapping[str, Any] | None = None,  # noqa: A002 - as in YAML
        functions: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the rows that a model gives, as a unit test in YAML would see them.

        `+name` computes the models above, too; `at` is the event time that has been reached in the end.
        """
        given = [{"input": each, "rows": [dict(row) for row in rows]} for each, rows in inputs.items()]
        body: dict[str, Any] = {"given": given, "expect": [], "strict": False}
        body |= {key: value for key, value in (("at", at), ("now", now)) if value is not None}
        body |= {"vars": dict(vars)} if vars else {}
        body |= {"overrides": {"functions": dict(functions)}} if functions else {}
        bare = name.removeprefix("+")
        model = (reference(bare) or bare).removeprefix("model.")
        place = Location("", 1, 1)
        written = Written(f"run_model({name!r})", place, model, body=body, chain=name.startswith("+"))
        verdict = self.bed.judged(written)
        if verdict.outcome is None:
            raise MillstreamError(*verdict.problems)
        return [dict(row) for row in verdict.outcome.final]


class TopicOf:
    """Returns what is stored: `topic("active_users")` gives the rows of a sink, a table or a source."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed

    def __call__(self, name: str) -> list[dict[str, Any]]:
        from millstream.testing.at_rest import NotBuilt

        self.bed.jars = True
        found = self.bed.at_rest.rows(reference(name) or name)
        if isinstance(found, NotBuilt):
            import pytest

            pytest.skip(f"'{found.name}' has not been built")
        return found
