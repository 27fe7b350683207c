"""Loads the version of a project that an apply has compiled, next to the one that runs.

The plan is what the apply sends. Functions and seeds are read once and compared with what the apply has read:
edits in between are refused, and later ones have no effect until the next apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec.structs import replace

from millstream.compile.artifacts import stored_catalog
from millstream.compile.manifest import Compiled, Manifest
from millstream.core.decoding import from_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.checkpoints.files import read_lock
from millstream.deploy.engine import Engine
from millstream.deploy.fit_to_deployment import fit_job
from millstream.deploy.handover.values import ProjectVersion
from millstream.deploy.matched_topics import match_job
from millstream.deploy.planning.intents import Intent
from millstream.deploy.planning.query_splits import QuerySplit
from millstream.deploy.planning.records import Deployed
from millstream.deploy.topics import make_topics
from millstream.deploy.values import Job
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.registry import uses_of_registry
from millstream.kafka.clients import admin_of
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.contents import with_contents
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.project.values import Project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.results.run_results import read_results

RESTART = "stop the run, run `millstream apply`, and start the run again"


def version_to_send(
    project: Project, manifest: bytes, vars_: str | None, profiles_dir: Path | None, *, tests: bool
) -> ProjectVersion:
    return ProjectVersion(
        str(Path(project.root).resolve()),
        project.target.name,
        manifest,
        contents_digest(with_contents(project)),
        vars_,
        str(profiles_dir) if profiles_dir else None,
        tests,
    )


def contents_digest(project: Project) -> str:
    """Return a digest of all that a run takes from a project besides its compiled plan."""
    taken = (
        project.contents,
        project.functions,
        project.seeds,
        project.sources,
        project.schemas,
        project.imported,
        project.libraries,
    )
    encoded = msgspec.json.encode(taken, enc_hook=repr, order="deterministic")
    return blake2b(encoded, digest_size=16).hexdigest()


def load_version(engine: Engine, version: ProjectVersion, intent: Intent) -> Job:
    """Load another version of the running project."""
    profiles = Path(version.profiles_dir) if version.profiles_dir else None
    project = with_contents(load_project(Path(version.root), version.target, version.vars, profiles))
    if contents_digest(project) != version.contents:
        message = "files of the project were edited while it was applied"
        raise MillstreamError(Diagnostic("MS898", message, None, "repeat the command"))
    manifest = from_json(version.manifest, Manifest)
    catalog = stored_catalog(manifest)
    if catalog is None:
        message = "the run can't read the plan of this version of Millstream"
        raise MillstreamError(Diagnostic("MS898", message, None, RESTART))
    before = read_results(
        Path(version.root, project.settings.target_path), project.settings.name, manifest.target
    )
    topology = compiled_topology(Compiled(manifest, catalog=catalog), before, tests=version.tests)
    environment = topology.catalog.environment
    project = replace(project, target=replace(project.target, environment=environment))
    if reasons := list(_needing_restart(engine, project, topology.catalog)):
        message = f"the run can't continue with this change: {'; '.join(reasons)}"
        raise MillstreamError(Diagnostic("MS898", message, None, RESTART))
    lock = read_lock(engine.files, engine.checkpoints)
    job = Job(
        project,
        topology,
        physical_of(topology, lock),
        lock,
        intent=intent,
        manifest=version.manifest,
        trigger=engine.job.trigger,
    )
    return match_job(job, admin_of(engine.kafka.cluster))


def engine_of(engine: Engine, job: Job) -> Engine:
    """Return the engine of another version, planned on what is deployed; topics that it needs are created."""
    job = fitted_to_run(job, deployed_at(engine.files, engine.checkpoints))
    make_topics(job, job.physical.queries, engine.kafka.cluster, engine.tell)
    return engine.with_job(job)


def fitted_to_run(job: Job, deployed: Deployed) -> Job:
    """Plan queries on what is deployed, whose models must not leave their queries any more."""
    fitted_job = fit_job(job, deployed)
    if fitted_job.reused is not None and fitted_job.reused.splits:
        raise cannot_leave(fitted_job.reused.splits)
    return fitted_job.job


def cannot_leave(splits: Iterable[QuerySplit]) -> MillstreamError:
    names = ", ".join(f"'{model.name}'" for split in splits for model in split.models)
    message = f"the run can't continue with this change: {names} can't leave a query that others share"
    return MillstreamError(Diagnostic("MS898", message, None, RESTART))


def _needing_restart(engine: Engine, project: Project, catalog: Catalog) -> Iterator[str]:
    """Yield what the process of a run has set once for all, and the new version has otherwise."""
    old = engine.job.project
    if engine.job.models is not None:
        yield "it was started with a selection of models"
    if project.settings.name != old.settings.name:
        yield f"the project is called {project.settings.name}"
    if project.target.settings != old.target.settings or project.target.env_vars != old.target.env_vars:
        yield f"settings of the target '{project.target.name}' have changed"
    elif checkpoints_of(project.target, Path(project.root)) != engine.checkpoints:
        yield f"its checkpoints are in {engine.checkpoints}"
    changed = [path for path, digest in project.imported.items() if old.imported.get(path, digest) != digest]
    if changed:
        # A module that a Python worker has imported is not imported again.
        yield f"functions import {', '.join(sorted(changed))}"
    versions = [
        name for name, version in project.libraries.items() if old.libraries.get(name, version) != version
    ]
    if versions:
        yield f"another version of {', '.join(sorted(versions))} is installed"
    if set(jars_for(project.target, catalog.jars)) - set(jars_for(old.target, engine.job.catalog.jars)):
        yield "Spark needs more jars"
    before = uses_of_registry(old, engine.job.catalog)
    if uses_of_registry(project, catalog) - before:
        yield "schemas of the registry are used that it has not asked for"
    if catalog.target.get("python") != engine.job.catalog.target.get("python"):
        yield "it runs another version of Python"
