"""Two versions of a small project, and what a review says of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from millstream.compile import compile_project
from millstream.core.node_id import NodeId
from millstream.queries.values import Query
from millstream.review.compare import review_versions
from millstream.review.rebuild_cost import collect_figures
from millstream.review.values import QueryChange, Review
from millstream.review.version import ReviewedVersion, version_of
from support.sql_plans import project


def version(folder: Path, name: str = "now") -> ReviewedVersion:
    compiled = compile_project(folder, use_cache=False)
    assert not [d.message for d in compiled.diagnostics if d.severity == "error"]
    return version_of(name, compiled, folder)


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write a project: models by name, other files by path; one without text is left out."""
    shutil.rmtree(folder, ignore_errors=True)
    project(folder, {name: text for name, text in files.items() if "." not in name and text})
    for path, text in files.items():
        if "." in path:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return folder


def compared(old: ReviewedVersion, folder: Path, files: dict[str, str]) -> Review:
    """Review a version against an older one."""
    now = version(written(folder, files))
    return review_versions(old, now, collect_figures(now.manifest, {}, None))


def reviewed(tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> Review:
    """Review an edit of some files."""
    old = version(written(tmp_path / "old", before), "main")
    return compared(old, tmp_path / "new", {**before, **after})


def query(review: Review, name: str) -> QueryChange | None:
    return next((change for change in review.queries if change.name == name), None)


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody, at a time that is always the same, without this machine's settings."""
    fixed = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    for who in ("AUTHOR", "COMMITTER"):
        fixed |= {f"GIT_{who}_NAME": "Tester", f"GIT_{who}_EMAIL": "tester@shop.example"}
        fixed[f"GIT_{who}_DATE"] = "2026-01-01T00:00:00Z"
    message = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | fixed, check=True, capture_output=True, text=True
    )
    return message.stdout.strip()


def repository(folder: Path) -> Path:
    """Make a repository of all that is in a folder, with one commit on `main`."""
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / ".gitignore").write_text("target/\n")
    commit(folder)
    return folder


def commit(folder: Path, message: str = "change") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def physical_query(name: str, relation: str, topic: str) -> Query:
    """Return a query that reads one topic and fills a table of its own name."""
    from millstream.queries.memory import MemoryEstimate
    from millstream.queries.values import OutputDelivery, PerBatch, QuerySignature, TableOutput, TopicRead

    return Query(
        name=name, kind="single", models=(NodeId("model", name),),
        sources=(TopicRead("records", NodeId.parse(relation), (topic,)),), reads=(), steps=(), sql="",
        deliver=PerBatch("batch", (OutputDelivery(TableOutput(NodeId("model", name)), ""),)),
        output_mode="update", signature=QuerySignature((NodeId.parse(relation),), ()), memory=MemoryEstimate(None, ""),
    )  # fmt: skip
