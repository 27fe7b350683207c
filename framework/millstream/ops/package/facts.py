"""What the files of a deployment need to know of a project and its target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream import __version__
from millstream.core.text import FileText
from millstream.project.files import File, read_file
from millstream.project.heap import heap_of
from millstream.project.imports import python_version
from millstream.project.profiles import profiles_file
from millstream.project.values import Project, Target, is_local
from millstream.project.yaml import mapping_entries, parse_yaml

PORT = 9464
_USED = re.compile(r"env_var\(\s*(['\"])(\w+)\1\s*(,)?")
_CORES = re.compile(r"local\[(\d+)")


class EnvironmentVariable(Struct, frozen=True, order=True):
    """An environment variable that the target or the project reads."""

    name: str
    optional: bool


class PackageFacts(Struct, frozen=True):
    project: str
    target: str
    python: str
    """Its minor version: 3.11."""
    variables: tuple[EnvironmentVariable, ...]
    cores: int
    memory: int
    """What all processes of a run need together, in MiB."""
    heap: int
    """The heap of Spark's driver, in MiB."""
    cluster: bool = False
    """Whether a cluster of Spark executes the queries."""
    pods: bool = False
    """Whether its executors are pods of Kubernetes."""
    version: str = __version__

    @property
    def name(self) -> str:
        """Return a name that Kubernetes, systemd and registries of images allow."""
        return re.sub(r"[^a-z0-9]+", "-", self.project.lower()).strip("-")[:50].strip("-") or "project"


def facts_of(project: Project, profiles_dir: Path | None, queries: int) -> PackageFacts:
    target = project.target
    heap = heap_of(target, queries)
    return PackageFacts(
        project.settings.name,
        target.name,
        python_version(),
        tuple(sorted(_variables(project, profiles_dir))),
        _cores(target),
        memory_with(heap),
        heap,
        not is_local(target),
        str(target.settings.get("master", "")).startswith("k8s://"),
    )


def _cores(target: Target) -> int:
    match = _CORES.match(str(target.settings.get("master", "")))
    return int(match[1]) if match else 2


def memory_with(heap: int) -> int:
    """Return the memory that a run needs, in MiB: the JVM's heap, what it uses besides, and Python.

    docs/production.md explains it to users.
    """
    return heap + heap // 4 + 1024


_OF_START = frozenset({"MILLSTREAM_PACKAGE"})
"""Variables that `start` and `submit` set."""


def _variables(project: Project, profiles_dir: Path | None) -> set[EnvironmentVariable]:
    """Return the variables of the target, and those that SQL and YAML may read."""
    root = Path(project.root)
    used = dict.fromkeys(project.settings.env_vars, True)
    path = profiles_file(root, profiles_dir)
    file = read_file(root, path) if isinstance(path, str) else None
    if isinstance(file, File):
        node, _ = parse_yaml(FileText(file.path, file.content))
        for text in _texts(_target_node(node, project.target)):
            for match in _USED.finditer(text):
                used[match[2]] = bool(match[3]) and used.get(match[2], True)
    return {EnvironmentVariable(name, optional) for name, optional in used.items() if name not in _OF_START}


def _target_node(node: Node | None, target: Target) -> Node | None:
    for key in (target.profile, "outputs", target.name):
        pairs = mapping_entries(node) if isinstance(node, MappingNode) else {}
        node = pairs[key][1] if key in pairs else None
    return node


def _texts(node: Node | None) -> Iterator[str]:
    match node:
        case ScalarNode(value=text):
            yield text
        case SequenceNode(value=items):
            for child in items:
                yield from _texts(child)
        case MappingNode(value=pairs):
            for _, child in pairs:
                yield from _texts(child)
