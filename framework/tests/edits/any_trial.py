"""Runs random edits: what goes on and what is rebuilt must have the rows of a fresh build of the edited project.

Several copies of the project, each with its own edit, are models of one project, so that they share a build.
An edit that the plan of a query doesn't show, and that no file which the query executes shows, isn't run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from edits.any_edit import AnyEdit, any_edit
from edits.any_project import files_of_all, upstream, without
from msgspec import structs
from support.runs import built, job_of, received, statuses, table_rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import plan_on_running
from millstream.deploy.planning.stages import judge_checkpoint
from millstream.project.folders import broker_folder
from millstream.project.load import load_project
from millstream.project.spark_settings import flatten_settings
from millstream.queries.memory import MemoryEstimate

HALF = 60
"""How many events there are when the project is edited."""
PROJECT_FILES = ("pyproject.toml", "profiles.yml")
FILES = files_of_all()
UPSTREAM = upstream()


@dataclass
class Trial:
    """An edit of one copy, what it changes and what is said of it."""

    edit: AnyEdit
    more: tuple[AnyEdit, ...] = ()
    """Edits of other files at the same time."""
    compiled: bool = True
    error: str = ""
    verdicts: dict[str, str] = field(default_factory=dict)
    """By model: one that runs differently, or that has another verdict than `same`."""
    planned: frozenset[str] = frozenset()
    """Models that exist in both versions."""
    executed: frozenset[str] = frozenset()
    """Models that run differently, and those that read them."""
    chosen: frozenset[str] = frozenset()
    """Those of them that are run."""
    ran: dict[str, str] = field(default_factory=dict)
    """What was seen of each model that was run: `equal` or `differs` from the rows of before, or what failed."""
    unsafe: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"e{self.edit.number:03}"

    @property
    def edits(self) -> tuple[AnyEdit, ...]:
        return (self.edit, *self.more)

    @property
    def changes_project(self) -> bool:
        return any(edit.path in PROJECT_FILES for edit in self.edits)

    @property
    def models(self) -> frozenset[str]:
        """Return the models to run: those that may have other rows, and what they read."""
        return self.chosen.union(*(UPSTREAM[model] for model in self.chosen))


def write(root: Path, name: str, target: str, *, edits: tuple[AnyEdit, ...] = (), models=None) -> None:
    edited = {edit.path: edit.text for edit in edits}
    for path, text in FILES.items():
        model = re.fullmatch(r"models/zz/zz_(\w+)\.(?:sql|yml)", path)
        if model and models is not None and model[1] not in models:
            continue
        _write(root / without(name, path), without(name, edited.get(path, text)).replace("TARGET", target))


def write_settings(root: Path, names: list[str], target: str) -> None:
    """Write the settings of several copies, which no edit changes."""
    head, *rest = re.split(r"(?=\[tool\.millstream\.)", FILES["pyproject.toml"])
    written = head + "[tool.millstream.vars]\n"
    for name in names:
        written += without(name, rest[0].partition("\n")[2])
    _write(root / "pyproject.toml", written + "".join(without(name, "".join(rest[1:])) for name in names))
    _write(root / "profiles.yml", FILES["profiles.yml"].replace("TARGET", target))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


# -- what is said of edits


class Teller:
    """Compiles a copy before and after an edit, in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.restore()
        self._before = job_of(root)
        self._queries = by_model(self._before.physical)
        self._executed = executed(self._before, root)

    def restore(self) -> None:
        for stray in self._root.rglob("*.py"):
            stray.unlink()
        write(self._root, "zz", "told")

    def trial(self, number: int) -> Trial:
        return self.edited(any_edit(number, FILES))

    def edited(self, edit: AnyEdit, *more: AnyEdit) -> Trial:
        """Tell what becomes of each model after edits of different files."""
        trial = Trial(edit, more)
        for file_edit in trial.edits:
            (self._root / file_edit.path).write_text(file_edit.text.replace("TARGET", "told"))
        try:
            after = job_of(self._root)
        except (AssertionError, MillstreamError) as error:
            trial.compiled = False
            trial.error = str(error)[:300]
            return trial
        else:
            self._tell(trial, after)
            return trial
        finally:
            for file_edit in trial.edits:
                (self._root / file_edit.path).write_text(FILES[file_edit.path].replace("TARGET", "told"))

    def _tell(self, trial: Trial, after) -> None:
        running = Deployed({query.name: new_record("", query, {}) for query in self._before.physical.queries})
        reused = plan_on_running(after.topology, after.physical, running, self._before.catalog)
        now = by_model(reused.physical)
        ran = executed(structs.replace(after, topology=reused.topology, physical=reused.physical), self._root)
        trial.planned = frozenset(now.keys() & self._queries.keys())
        changed = {model for model, form in self._executed.items() if ran.get(model) != form}
        for model, query in self._queries.items():
            if model not in now:
                continue
            record = running.records[query.name]
            kind = judge_checkpoint(now[model], record, running).kind
            if model in changed or kind != "same":
                trial.verdicts[model] = kind
        below = {model for model, above in UPSTREAM.items() if above & changed}
        trial.executed = frozenset((changed | below) & now.keys() & self._queries.keys())


def by_model(physical):
    """Return the query of each stored model, by the model's name in the template."""
    return {
        output.model.partition("_")[2]: query
        for query in physical.queries
        for output in query.outputs
        if getattr(output, "model", "").startswith("model.")
    }


def executed(job, root: Path) -> dict[str, object]:
    """Return all that the query of each model is executed from; equal values run alike."""
    python = {str(path): path.read_text() for path in sorted(root.rglob("*.py"))}
    seeds = {str(path): path.read_text() for path in sorted(root.rglob("seeds/*"))}
    target = job.project.target
    settings = {name: value for name, value in target.settings.items() if name != "outputs"}
    forms = {}
    for model, query in by_model(job.physical).items():
        read = [source.relation for source in (*query.sources, *query.reads)]
        forms[model] = (
            structs.replace(query, signature=None, memory=MemoryEstimate(None, "")),
            python if query.functions or query.decoders or query.encoders or "zz_totals" in query.sql else {},
            seeds if any(relation.startswith("seed.") for relation in read) else {},
            [job.catalog.topics.get(relation) for relation in read],
            settings,
        )
    return forms


# -- what is seen


class Batch:
    """Copies that are built together: all of one project, or one whose settings are edited.

    A fresh build of the edited project has a folder and a broker of its own: an edit may name a topic as both
    would.
    """

    def __init__(self, root: Path, number: int, trials: list[Trial], servers, spark) -> None:
        self.target, self.trials, self._spark = f"t{number:02}", trials, spark
        self.root, self.fresh = root / "running", root / "fresh"
        self._bootstrap = {}
        for project_root, server in zip((self.root, self.fresh), servers, strict=True):
            folder = broker_folder(project_root)
            folder.parent.mkdir(parents=True)
            folder.symlink_to(server.folder, target_is_directory=True)
            self._bootstrap[project_root] = server.address
        self._refused: frozenset[str] = frozenset()
        self._edited = False

    def write(self, root: Path, *, edited: bool) -> None:
        self._edited = edited
        if not any(trial.changes_project for trial in self.trials):
            write_settings(root, [trial.name for trial in self.trials], self.target)
        for trial in self.trials:
            unedited = {"pyproject.toml", "profiles.yml"} if not trial.changes_project else set()
            saved = {path: (root / path).read_text() for path in unedited}
            write(
                root,
                trial.name,
                self.target,
                edits=trial.edits if edited else (),
                models=trial.models,
            )
            for path, text in saved.items():
                (root / path).write_text(text)

    def build(self, root: Path, **options):
        # Workers find the project's modules here, and have imported none of its earlier ones.
        version = "edited" if self._edited else "unedited"
        environment = self._spark.sparkContext.environment
        environment |= {"PYTHONPATH": str(root), "MILLSTREAM_TESTS_VERSION": version}
        results, events = built(root, self._session(root), **options)
        return statuses(results), events

    def _session(self, root: Path):
        """Return a session whose queries have the settings of the target, as in a process of its own."""
        session, create = self._spark.newSession(), self._spark.newSession
        settings = load_project(root, None, None, None).target.settings.get("spark") or {}

        def configured():
            spark = create()
            for name, value in flatten_settings(settings):
                if name.startswith("spark.sql.") and spark.conf.isModifiable(name):
                    spark.conf.set(name, str(value).lower() if isinstance(value, bool) else value)
            return spark

        session.newSession = configured
        return session

    def first(self) -> None:
        self.write(self.root, edited=False)
        statuses, events = self.build(self.root)
        assert set(statuses.values()) == {"success"}, (
            {n: s for n, s in statuses.items() if s != "success"},
            events,
        )

    def second(self) -> None:
        """Build the edited project: refused queries are rebuilt, with all that reads them."""
        self.write(self.root, edited=True)
        statuses, _ = self.build(self.root)
        self._refused = frozenset(
            name for name, status in statuses.items() if status != "success" and name.startswith("e")
        )
        if self._refused:
            below = {
                f"{trial.name}_{model}"
                for trial in self.trials
                for model in trial.models
                if {f"{trial.name}_{parent}" for parent in UPSTREAM[model]} & self._refused
            }
            self._refused |= below
            statuses, _events = self.build(self.root, intent=Update(frozenset(map(_id, self._refused))))
        self._continued = statuses
        self.write(self.fresh, edited=True)
        self._fresh, _ = self.build(self.fresh)

    def compare(self, before) -> None:
        for trial in self.trials:
            for model in sorted(trial.chosen):
                name = f"{trial.name}_{model}"
                verdict = trial.verdicts.get(model, "same")
                if self._fresh.get(name) != "success":
                    trial.ran[model] = "the edited model fails"
                    continue
                if self._continued.get(name) != "success":
                    trial.ran[model] = f"{verdict}, but it fails"
                    trial.unsafe[model] = (verdict, self._continued.get(name))
                    continue
                mine, fresh = (self.rows(name, root, model) for root in (self.root, self.fresh))
                seen = "equal" if before and fresh == before[model] else "differs" if before else "compared"
                trial.ran[model] = seen
                if (verdict == "same") == (name in self._refused) and verdict == "same":
                    trial.ran[model] += ", rebuilt with what it reads"
                if mine != fresh:
                    trial.unsafe[model] = (
                        verdict,
                        sorted((mine - fresh).items())[:3],
                        sorted((fresh - mine).items())[:3],
                    )

    def rows(self, name: str, root: Path, model: str) -> Counter[str]:
        sql = (root / f"models/{name.partition('_')[0]}/{name}.sql").read_text()
        if "materialized='sink'" not in sql:
            return _counted(table_rows(root, f"model.{name}", self.target))
        topic = re.search(r"target\.name ~ '(\w+)'", sql)
        records = received(self._bootstrap[root], f"{self.target}{topic[1]}" if topic else name)
        if model == "sent":  # records stay as they were sent: those of later records count
            return Counter(repr((record.key(), record.value())) for record in records if _is_later(record))
        return Counter(
            repr(record) for record in {record.key(): record.value() for record in records}.items()
        )


def _id(name: str) -> NodeId:
    """Return the id of a model, or of a reference topic, whose name has two parts."""
    return NodeId("source" if "." in name else "model", name)


def _is_later(record) -> bool:
    """Return whether a record is of the second half of all events."""
    id_ = json.loads(record.value() or b"{}").get("id")
    return isinstance(id_, int) and id_ >= HALF


def _counted(rows) -> Counter[str]:
    def plain(value):
        return round(value, 9) if isinstance(value, float) else value

    return Counter(
        json.dumps({name.lower(): plain(value) for name, value in row.items()}, default=str, sort_keys=True)
        for row in rows
    )
