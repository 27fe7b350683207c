"""A project and rows that differ become the least that still differ in the same way, ready as a fixture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from streaming.fixtures import text_of
from streaming.generator import project as generated
from streaming.query_runner import Corner, QueryRunner, Record
from streaming.records import generated_records
from streaming.running import check, corners
from streaming.shapes import Model, Project, Select, reads
from streaming.texts import sql

Records = dict[str, list[Record]]
Differs = Callable[[Project, Records, Corner], bool]


def shrunk(
    project: Project, records: Records, corner: Corner, differs: Differs, most: int = 60
) -> tuple[Project, Records, Corner]:
    """Leave out what is not needed, trying at most so often."""
    left = [most]

    def still(project: Project, records: Records, corner: Corner) -> bool:
        left[0] -= 1
        return left[0] >= 0 and differs(project, records, corner)

    changed = True
    while changed and left[0] > 0:
        changed = False
        for smaller in _fewer_models(project):
            if still(smaller, records, corner):
                project, changed = smaller, True
                break
    for name in list(records):
        size = max(len(records[name]) // 2, 1)
        while size:
            start = 0
            while start < len(records[name]) and left[0] > 0:
                fewer = {**records, name: records[name][:start] + records[name][start + size :]}
                if still(project, fewer, corner):
                    records = fewer
                else:
                    start += size
            size //= 2
    for simpler in ({"restart": False}, {"grouping": "all"}, {"cut": 1}):
        less = corner._replace(**simpler)
        if less != corner and still(project, records, less):
            corner = less
    return project, records, corner


def _fewer_models(project: Project) -> Iterable[Project]:
    models = list(project.models)
    for model in models:
        # What one model needs, alone.
        needed = _needed(project, model)
        if len(needed) < len(models) and model.kind != "view":
            yield replace(project, models=tuple(needed), by_name={})
    for model in reversed(models):
        if not any(model.name in reads(other.body) for other in models):
            yield replace(project, models=tuple(m for m in models if m is not model), by_name={})
    for index, model in enumerate(models):
        for plainer in _plainer(model):
            yield replace(project, models=(*models[:index], plainer, *models[index + 1 :]), by_name={})


def _plainer(model: Model) -> Iterable[Model]:
    if model.test:
        yield replace(model, test=None)
    body: Any = model.body
    if getattr(body, "where", None) is not None and not model.dedupe:
        yield replace(model, body=replace(body, where=None))
    if getattr(body, "having", None) is not None:
        yield replace(model, body=replace(body, having=None))
    if len(getattr(body, "measures", ())) > 1:
        yield replace(model, body=replace(body, measures=body.measures[:1]))
    if isinstance(body, Select) and any(e[0] != "col" for _, e in body.items):
        yield replace(
            model, body=replace(body, items=tuple(item for item in body.items if item[1][0] == "col"))
        )


def _needed(project: Project, model: Model) -> list[Model]:
    names, waiting = {model.name}, [model]
    while waiting:
        for name in reads(waiting.pop().body):
            of = project.by_name[name]
            if isinstance(of, Model) and name not in names:
                names.add(name)
                waiting.append(of)
    return [other for other in project.models if other.name in names]


def shrink_report(runner: QueryRunner, seed: int) -> str:
    """Return the least project and rows that differ as those of a number do, as text and as a fixture."""
    project = generated(seed)
    records = generated_records(project, seed)
    kinds: dict[Corner, str] = {}
    for way in corners(seed):
        if message := check(runner, project, records, [way]).differences:
            kinds[way] = _kind(message[0])
    if not kinds:
        return f"{seed}: only its corners differ from each other"
    way, kind = next(iter(kinds.items()))

    def differs(project: Project, records: Records, way: Corner) -> bool:
        return any(
            _kind(difference) == kind for difference in check(runner, project, records, [way]).differences
        )

    project, records, way = shrunk(project, records, way, differs)
    message = "\n".join(check(runner, project, records, [way]).differences)
    texts = "\n".join(
        f"-- {model.name} {model.test or ''}\n{sql(project, model)}" for model in project.models
    )
    return f"project {seed}\n{message}\n{texts}\n{text_of(message, project, records, [way])}"


def _kind(message: str) -> str:
    """Return what is alike of a difference before and after a project has shrunk."""
    details = message.partition("\n")[2]
    return "rows" if "missing" in details else details[:40]
