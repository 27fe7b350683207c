"""Which types of two schemas match, by the rules of Avro's Java library."""

from __future__ import annotations

from millstream.formats.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroSchema,
    AvroType,
    AvroUnion,
    Resolved,
)

PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def named_alike(
    written: AvroEnum | AvroFixed | AvroRecord, expected: AvroEnum | AvroFixed | AvroRecord
) -> bool:
    """Whether names are equal without their namespaces, or one is an alias."""
    return written.name in expected.aliases or _short(written.name) == _short(expected.name)


def matching_branch(
    written: Resolved, union: AvroUnion, writer: AvroSchema, reader: AvroSchema
) -> int | None:
    """Return the index of the first type of a union that matches what was written."""
    types = [reader.resolved(type_) for type_ in union.types]
    similar = None
    for index, candidate in enumerate(types):
        match written, candidate:
            case ((AvroRecord() | AvroEnum() | AvroFixed()), (AvroRecord() | AvroEnum() | AvroFixed())) if (
                written.type == candidate.type
            ):
                if written.name == candidate.name or written.name in candidate.aliases:
                    return index
                if isinstance(written, AvroRecord) and isinstance(candidate, AvroRecord):
                    short = _short(written.name) == _short(candidate.name)
                    if (similar is None or short) and _has_same_fields(written, candidate, writer, reader):
                        similar = index
            case _ if written.type == candidate.type:
                return index
    if similar is not None:
        return similar
    promoted = PROMOTIONS.get(written.type, ())
    return next((index for index, candidate in enumerate(types) if candidate.type in promoted), None)


def _has_same_fields(
    written: AvroRecord, expected: AvroRecord, writer: AvroSchema, reader: AvroSchema
) -> bool:
    """Whether a reader gets all fields that it needs, and each as a type that may match."""
    types = {field.name: writer.resolved(field.of) for field in written.fields}
    for field in expected.fields:
        if field.name not in types:
            if not field.has_default:
                return False
        elif not _may_match(types[field.name], reader.resolved(field.of), writer, reader):
            return False
    return True


def _may_match(written: Resolved, expected: Resolved, writer: AvroSchema, reader: AvroSchema) -> bool:
    match written, expected:
        case AvroUnion(), _:
            return True  # what is written decides
        case _, AvroUnion():
            return matching_branch(written, expected, writer, reader) is not None
        case AvroFixed(), AvroFixed():
            return named_alike(written, expected) and written.size == expected.size
        case AvroEnum(), AvroEnum():
            return named_alike(written, expected)
        case _:
            return written.type == expected.type or expected.type in PROMOTIONS.get(written.type, ())


def same_union(
    written: AvroType,
    expected: AvroType,
    writer: AvroSchema,
    reader: AvroSchema,
    seen: frozenset[tuple[str, str]] = frozenset(),
) -> bool:
    """Whether types are the same but for namespaces and logical types. A union's then match by position."""
    match writer.resolved(written), reader.resolved(expected):
        case ((AvroPrimitive() as one), (AvroPrimitive() as other)):
            return one.type == other.type
        case ((AvroFixed() as one), (AvroFixed() as other)):
            return named_alike(one, other) and one.size == other.size
        case ((AvroEnum() as one), (AvroEnum() as other)):
            return named_alike(one, other) and one.symbols == other.symbols
        case AvroArray(items=a), AvroArray(items=b):
            return same_union(a, b, writer, reader, seen)
        case AvroMap(values=a), AvroMap(values=b):
            return same_union(a, b, writer, reader, seen)
        case AvroUnion(types=ours), AvroUnion(types=theirs):
            return len(ours) == len(theirs) and all(
                same_union(a, b, writer, reader, seen) for a, b in zip(ours, theirs, strict=True)
            )
        case ((AvroRecord() as one), (AvroRecord() as other)):
            pair = (one.name, other.name)
            return pair in seen or (
                named_alike(one, other)
                and [field.name for field in one.fields] == [field.name for field in other.fields]
                and all(
                    same_union(a.of, b.of, writer, reader, seen | {pair})
                    for a, b in zip(one.fields, other.fields, strict=True)
                )
            )
        case _:
            return False


def _short(name: str) -> str:
    return name.rpartition(".")[2]
