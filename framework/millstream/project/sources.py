"""Sources of a properties file, of all kinds."""

from __future__ import annotations

from millstream.project.columns import ColumnReader
from millstream.project.schema import Shape
from millstream.project.source_shapes import SourceShape
from millstream.project.values import DeclaredSource
from millstream.sources.registry import KINDS, source_declaration


def read_sources(
    reader: ColumnReader, shapes: list[SourceShape], kinds: tuple[str, ...] = KINDS
) -> tuple[DeclaredSource, ...]:
    """Return what all sources declare; a source may be written in several parts."""
    declared: list[tuple[str, SourceShape, Shape]] = []
    for source in shapes:
        reader.check_name(source, source.name, "source")
        for kind in kinds:
            source_declaration(kind).check(reader, source)
            declared += [(kind, source, shape) for shape in getattr(source, source_declaration(kind).key)]
    names = {id(shape): f"{source.name}.{getattr(shape, 'name', '')}" for _, source, shape in declared}
    titles = " or ".join(dict.fromkeys(source_declaration(kind).title for kind, _, _ in declared))
    reader.check_unique([shape for _, _, shape in declared], lambda shape: names[id(shape)], titles)
    return tuple(source_declaration(kind).read(reader, source, shape) for kind, source, shape in declared)
