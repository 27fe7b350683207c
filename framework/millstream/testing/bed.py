"""What all tests of a project share: the compiled project, the tests as read, and one Spark."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.compile import compile_project
from millstream.errors import Diagnostic, MillstreamError
from millstream.manifest import Compiled, ManifestNode
from millstream.project.load import load_project
from millstream.project.values import Project, Target
from millstream.project.values import UnitTest as Written
from millstream.testing.at_rest import AtRest
from millstream.testing.coverage import Covered
from millstream.testing.functions import with_stand_ins
from millstream.testing.judging import Verdict, judge
from millstream.testing.places import Places
from millstream.testing.production import Production
from millstream.testing.reading import read_unit_test, stands_of
from millstream.testing.relations import Relations
from millstream.testing.trying import Bench
from millstream.testing.values import Stands, UnitTest
from millstream.topology import read_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Options(Struct, frozen=True):
    """What the user said that concerns the whole project."""

    target: str | None = None
    vars: str | None = None
    profiles_dir: str | None = None


class Variant(Struct, frozen=True):
    """The project compiled with what some tests put in the place of variables."""

    project: Project
    compiled: Compiled
    relations: Relations
    production: Production


class Bed:
    """Shared by the tests of a project; Spark starts when the first one needs it."""

    def __init__(self, root: Path, options: Options | None = None) -> None:
        self.root = root
        self.options = options or Options()
        self.places = Places(root)
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._spark: SparkSession | None = None
        self._variants: dict[str, Variant] = {}
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self.at_rest = AtRest(self)
        self.covering: list[tuple[str, Covered]] | None = None
        """By tested model, what its test reaches; None: nobody wants to know."""
        self.jars = False
        """Spark needs those of the target: something at rest is looked at."""

    # -- the project

    @property
    def main(self) -> Variant:
        return self.variant(Stands())

    @property
    def nodes(self) -> Mapping[str, ManifestNode]:
        return self.main.compiled.manifest.nodes

    def variant(self, stands: Stands) -> Variant:
        """Return the project as a test wants it; tests that want the same share it."""
        key = repr((stands.vars, stands.env))
        with self._lock:
            if key not in self._variants:
                self._variants[key] = self._compiled(stands)
            return self._variants[key]

    def _compiled(self, stands: Stands) -> Variant:
        own = self.options
        profiles = Path(own.profiles_dir) if own.profiles_dir else None
        variables: Any = _merged(own.vars, stands.vars)
        with _environment(stands.env):
            compiled = compile_project(
                self.root, target=own.target, variables=variables, profiles_dir=profiles,
                use_cache=not (stands.vars or stands.env),
            )  # fmt: skip
            if errors := [each for each in compiled.diagnostics if each.severity == "error"]:
                raise MillstreamError(*errors)
            project = load_project(self.root, own.target, variables, profiles)
        production = Production(project, compiled, self.spark, self._log)
        return Variant(project, compiled, Relations(read_catalog(compiled)), production)

    # -- unit tests

    def written(self, id_: str) -> Written:
        """Return a unit test by the id of its node."""
        project = self.main.project
        return next(u for u in project.unit_tests if f"unit_test.{u.model}.{u.name}" == id_)

    def judged(self, written: Written) -> Verdict:
        """Run a unit test; raise what is wrong with the test itself."""
        bench, test, variant = self._benched(written)
        nodes = variant.compiled.manifest.nodes
        try:
            verdict = judge(bench, test, nodes)
            return verdict if self.covering is None else self._covered(verdict, bench, test, nodes)
        except MillstreamError as error:
            raise MillstreamError(*(self._with_line(each) for each in error.diagnostics)) from None

    def _covered(
        self, verdict: Verdict, bench: Bench, test: UnitTest, nodes: Mapping[str, ManifestNode]
    ) -> Verdict:
        from millstream.testing.covering import covered

        assert self.covering is not None
        self.covering.append((test.model, covered(bench, test, nodes)))
        return verdict

    def _benched(self, written: Written) -> tuple[Bench, UnitTest, Variant]:
        variant = self.variant(replace(stands_of(written.body), functions={}))
        zone = _zone(variant.project.target)
        test, problems = read_unit_test(written, variant.relations, self.places, zone)
        if test is None or problems:
            raise MillstreamError(*problems)
        project = with_stand_ins(variant.project, test.stands.functions, self.folder)
        bench = Bench(project, variant.relations, zone, self.spark, self._log(), variant.production)
        return bench, test, variant

    def _log(self) -> str:
        return str(self.folder / "log" / "spark.log")

    def _with_line(self, found: Diagnostic) -> Diagnostic:
        if found.location is None or found.line:
            return found
        text, _ = self.places.file(found.location.path)
        return msgspec.structs.replace(found, line=text.line(found.location.line))

    # -- Spark

    @property
    def folder(self) -> Path:
        with self._lock:
            if self._folder is None:
                made = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="millstream-test-"))
                self._folder = Path(made)
            return self._folder

    def spark(self) -> SparkSession:
        """Return the one Spark of this process, which somebody may have started already."""
        from millstream.testing.spark import shared_spark

        with self._starting:
            if self._spark is None:
                target, formats = self.main.project.target, self.main.relations.catalog.jars
                started = shared_spark(target, self.folder, formats, jars=self.jars)
                self._spark = self._stack.enter_context(started)
            return self._spark

    def close(self) -> None:
        self.at_rest.close()
        self._stack.close()


def _zone(target: Target) -> ZoneInfo:
    return ZoneInfo(str(target.settings.get("timezone", "UTC")))


def _merged(given: str | None, over: Mapping[str, Any]) -> Any:
    if not over:
        return given
    from millstream.project.variables import merge_variables

    found, problems = merge_variables({}, given)
    if problems:
        raise MillstreamError(*problems)
    return {**found, **over}


@contextmanager
def _environment(over: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in over}
    os.environ.update(over)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
