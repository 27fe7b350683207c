"""What all tests of a project share: the compiled project, the files of tests, and one Spark session."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.environments import restore_environment
from millstream.engine.spark.registry import UsedRegistry, use_registry, used_registry
from millstream.project.folders import target_folder
from millstream.project.values import Function, Project, UnitTest
from millstream.queries.topology import read_catalog
from millstream.testing.coverage.measure import measure_coverage
from millstream.testing.coverage.paths import RowCoverage
from millstream.testing.data.run import DataTests
from millstream.testing.data.stored import StoredRelations
from millstream.testing.spark import shared_spark
from millstream.testing.units.files import YamlFiles
from millstream.testing.units.read import read_overrides, read_unit_test
from millstream.testing.units.relations import UnitRelations
from millstream.testing.units.run import RunContext
from millstream.testing.units.schema_ids import with_known_ids, written_ids
from millstream.testing.units.streaming_checks import StreamingChecks
from millstream.testing.units.values import Overrides
from millstream.testing.units.verdict import UnitVerdict, judge_test
from millstream.testing.variants import ProjectOptions, Variant, compile_variant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.kafka.clients import Admin
    from millstream.runner.samples.sampled import TopicSample
    from millstream.runner.samples.sampling import Sampling


class TestSession:
    """Shared by the tests of a project. Spark starts when the first test needs it."""

    __test__ = False  # pytest must not collect it

    def __init__(
        self,
        root: Path,
        options: ProjectOptions | None = None,
        *,
        sample: int | None = None,
        main: Variant | None = None,
    ) -> None:
        self.root = root
        self._main = main
        """The project as it is, if it has been compiled."""
        self.sample = sample
        """At most this many records of each input: data tests are of what models compute from them."""
        self.options = options or ProjectOptions()
        self.files = YamlFiles(root)
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._spark: SparkSession | None = None
        self._registry = UsedRegistry()
        self._variants: dict[str, tuple[Variant, UnitRelations, StreamingChecks]] = {}
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self.coverage: list[tuple[NodeId, RowCoverage]] | None = None
        """What each test reaches, with the tested model; None: not measured."""
        self.needs_jars = False
        """Spark needs the target's jars to read stored rows."""
        self._admin: Admin | None = None

    # -- the project

    @property
    def main(self) -> Variant:
        return self._variant(Overrides())[0]

    @property
    def nodes(self) -> Mapping[NodeId, ManifestNode]:
        return self.main.compiled.manifest.nodes

    def _variant(self, overrides: Overrides) -> tuple[Variant, UnitRelations, StreamingChecks]:
        """Return the project compiled for a test; tests with the same overrides share it.

        The relations are those of its unit tests.
        """
        key = repr((overrides.vars, overrides.env))
        with self._lock:
            if key not in self._variants:
                is_main = self._main is not None and overrides == Overrides()
                variant = (self._main if is_main else None) or compile_variant(
                    self.root, self.options, overrides
                )
                checks = StreamingChecks(variant.project, variant.compiled, self.spark, lambda: self._log)
                catalog = with_known_ids(variant.relations.catalog)
                relations = (
                    variant.relations if catalog is variant.relations.catalog else UnitRelations(catalog)
                )
                self._variants[key] = variant, relations, checks
                self._use_registry(written=self._registry.written | written_ids(catalog))
            return self._variants[key]

    # -- unit tests

    def unit_test(self, id_: NodeId) -> UnitTest:
        project = self.main.project
        return next(u for u in project.unit_tests if NodeId("unit_test", f"{u.model}.{u.name}") == id_)

    def judge(self, unit: UnitTest) -> UnitVerdict:
        """Run a unit test; raise if the test itself is invalid."""
        variant, relations, checks = self._variant(replace(read_overrides(unit.body), functions={}))
        zone = ZoneInfo(str(variant.project.target.settings.get("timezone", "UTC")))
        test, diagnostics = read_unit_test(unit, variant.relations, self.files, zone)
        if test is None or diagnostics:
            raise MillstreamError(*diagnostics)
        project = stub_functions(variant.project, test.functions, self.folder)
        context = RunContext(project, relations, zone, self.spark, self._log, checks)
        nodes = variant.compiled.manifest.nodes
        try:
            verdict = judge_test(context, test, nodes)
            if self.coverage is not None:
                self.coverage.append((test.model, measure_coverage(context, test, nodes)))
        except MillstreamError as error:
            raise MillstreamError(
                *(self._with_line(diagnostic) for diagnostic in error.diagnostics)
            ) from None
        return verdict

    def _with_line(self, diagnostic: Diagnostic) -> Diagnostic:
        if diagnostic.location is None or diagnostic.line:
            return diagnostic
        text, _ = self.files.file(diagnostic.location.path)
        return replace(diagnostic, line=text.line(diagnostic.location.line))

    # -- stored rows

    @cached_property
    def built(self) -> Variant:
        """The project in the environment as it was built; the same as `main` in production."""
        main = self.main
        if main.project.target.environment is None:
            return main
        compiled, target = restore_environment(main.compiled, main.project.target, self.root)
        return Variant(replace(main.project, target=target), compiled, UnitRelations(read_catalog(compiled)))

    @cached_property
    def stored(self) -> StoredRelations:
        built = self.built
        nodes = built.compiled.manifest.nodes
        sampling = None if self.sample is None else self.sampling
        relations = StoredRelations(
            built.project, nodes, built.relations, self.spark, self._log,
            used_registry=self._registry_of_records, sampling=sampling,
        )  # fmt: skip
        self.spark()  # started first, so that the relations are closed before it stops
        self._stack.callback(relations.close)
        return relations

    @cached_property
    def data_tests(self) -> DataTests:
        return DataTests(self.built.compiled, self.stored)

    # -- samples

    @cached_property
    def sampling(self) -> Sampling:
        """What models compute from a sample of their inputs."""
        from millstream.runner.samples.sampling import Sampling

        return Sampling(self.built.project, self.built.compiled, self.topic_sample, self._log)

    @cached_property
    def topic_sample(self) -> TopicSample:
        from millstream.runner.samples.sampled import TopicSample

        assert self.sample is not None
        return TopicSample(self.built.project, self.sample, self._connect)

    def _connect(self) -> Admin:
        """Return the target's Kafka, once a sample reads a topic that has records."""
        if self._admin is None:
            from millstream.kafka.connection import connect_kafka

            self._admin = self._stack.enter_context(connect_kafka(self.built.project))
            self._stack.enter_context(self._registry_of_records())
        return self._admin

    # -- Spark

    @property
    def folder(self) -> Path:
        with self._lock:
            if self._folder is None:
                folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="millstream-test-"))
                self._folder = Path(folder)
            return self._folder

    @cached_property
    def _logs(self) -> Path:
        """The folder of the target's logs, which messages name: it is kept, as is that of a build."""
        return target_folder(self.root, self.main.project.target) / "log"

    @property
    def _log(self) -> str:
        return str(self._logs / "spark.log")

    def spark(self) -> SparkSession:
        """Return the Spark session of this process, starting it if none is running."""
        with self._starting:
            if self._spark is None:
                target, formats = self.main.project.target, self.main.relations.catalog.jars
                jars = self.needs_jars if self.sample is None else self._sample_needs_jars()
                started = shared_spark(target, self._logs, formats, jars=jars)
                self._spark = self._stack.enter_context(started)
                use_registry(self._spark, self._registry)
            return self._spark

    def _sample_needs_jars(self) -> bool:
        from millstream.runner.samples.sampled import nothing_is_stored

        main = self.main
        return bool(self.sample) and not nothing_is_stored(main.project, main.relations.catalog)

    def _use_registry(self, **changes: Any) -> None:
        """Change the registry of all tests: unit tests need none, and have ids of their own."""
        with self._lock:
            self._registry = replace(self._registry, **changes)
            if self._spark is not None:
                use_registry(self._spark, self._registry)

    @contextmanager
    def _registry_of_records(self) -> Iterator[None]:
        """Let stored records be decoded whose schemas are not pinned, such as those of sinks."""
        built = self.built
        with used_registry(built.project, built.relations.catalog, ()) as registry:
            self._use_registry(address=registry.address)
            yield

    def close(self) -> None:
        self._stack.close()


_IMPORTS = "import datetime\nfrom decimal import Decimal\n\n"


def stub_functions(project: Project, values: Mapping[str, Any], folder: Path) -> Project:
    """Return the project with stubs, in generated files, for some functions."""
    if not values:
        return project
    stubs = {name: _stub(project.functions[name], value, folder) for name, value in values.items()}
    return replace(project, functions={**project.functions, **stubs})


def _stub(function: Function, value: Any, folder: Path) -> Function:
    body = f"yield from {value!r}" if function.table else f"return {value!r}"
    names = ", ".join(parameter.name for parameter in function.parameters)
    text = f"{_IMPORTS}def {function.name}({names}):\n    {body}\n"
    digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    file = folder / f"{function.name}_{digest}.py"
    file.write_text(text, encoding="utf-8")
    return replace(function, path=str(file), digest=digest)
