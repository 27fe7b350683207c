"""The shapes of properties files, whose sources have the keys of all kinds of sources."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar

from msgspec import NODEFAULT, defstruct, field
from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, SequenceNode

from millstream.project import dbt
from millstream.project.schema import Shape, keys_of
from millstream.project.shapes import (
    Description,
    ExposureShape,
    FunctionShape,
    MetricShape,
    ModelShape,
    SeedShape,
    UnitTestShape,
    describe_key,
)
from millstream.project.yaml import mapping_entries
from millstream.sources.registry import KINDS, installed_kinds, source_declaration


class SourceShape(Shape):
    """What the sources of all kinds have; `properties_shape` adds the keys of the kinds."""

    name: Annotated[str, describe_key("the name in source('name', 'topic')")]
    description: Description = ""


class PropertiesShape(Shape):
    """A YAML file below models/, seeds/, macros/ or tests/."""

    words: ClassVar[dict[str, str]] = {
        "macros": "describe Python functions under functions:, Jinja macros by a comment in their file",
        "snapshots": dbt.SNAPSHOT,
        "selectors": "write them in selectors.yml",
        "semantic_models": "write metrics: with model and expression",
        "data_tests": "write tests: below a model, source or column",
    }

    version: int | None = None
    sources: list[SourceShape] = []
    models: list[ModelShape] = []
    seeds: list[SeedShape] = []
    functions: list[FunctionShape] = []
    exposures: list[ExposureShape] = []
    metrics: list[MetricShape] = []
    unit_tests: list[UnitTestShape] = []


@cache
def source_shape(kinds: tuple[str, ...] = KINDS) -> type[SourceShape]:
    """Return the shape of a source: the defaults of each kind, its name, and a list for each kind."""
    declared = [source_declaration(kind) for kind in kinds]
    keys: list[Any] = [
        field for kind in declared if kind.defaults is not None for field in _fields_of(kind.defaults)
    ]
    keys += _fields_of(SourceShape)
    for kind in declared:
        described = describe_key(f"its {kind.key.replace('_', ' ')}")
        keys.append((kind.key, Annotated[list[kind.shape], described], field(default_factory=list)))  # type: ignore[name-defined]
    words = dict(word for kind in declared for word in kind.words)
    return defstruct("SourceShape", keys, bases=(Shape,), namespace={"words": words}, kw_only=True)  # type: ignore[return-value]  # it has the same keys, in the order of the docs


@cache
def properties_shape(kinds: tuple[str, ...] = KINDS) -> type[PropertiesShape]:
    source = source_shape(kinds)
    keys = [
        (name, list[source] if name == "sources" else type_, default)  # type: ignore[valid-type]
        for name, type_, default in _fields_of(PropertiesShape)
    ]
    namespace = {"words": PropertiesShape.words, "__doc__": PropertiesShape.__doc__}
    return defstruct("PropertiesShape", keys, bases=(Shape,), namespace=namespace, kw_only=True)  # type: ignore[return-value]


def kinds_for(node: Node) -> tuple[str, ...]:
    """Return the kinds of sources to read a file with: installed ones only if it has keys of others."""
    top = dict(mapping_entries(node)) if isinstance(node, MappingNode) else {}
    declared = top["sources"][1] if "sources" in top else None
    sources = declared.value if isinstance(declared, SequenceNode) else []
    names = {
        name for source in sources if isinstance(source, MappingNode) for name in mapping_entries(source)
    }
    return (*KINDS, *installed_kinds()) if names - keys_of(source_shape()).keys() else KINDS


def _fields_of(shape: type[Any]) -> list[Any]:
    """Return the keys of a shape with their types and defaults, to define another one."""
    shared = {key.name for key in fields(Shape)}
    keys: list[Any] = []
    for key in fields(shape):
        if key.name not in shared:
            default = (
                field(default_factory=key.default_factory)
                if key.default is NODEFAULT
                else field(default=key.default)
            )
            required = key.default is NODEFAULT and key.default_factory is NODEFAULT
            keys.append((key.name, key.type, field() if required else default))
    return keys
