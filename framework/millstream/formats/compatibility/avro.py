"""Whether records of one Avro schema can be read by another, by the rules of Avro's `SchemaCompatibility`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from millstream.formats.avro.match import PROMOTIONS, named_alike
from millstream.formats.avro.parse import parse_schema
from millstream.formats.avro.references import self_contained
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
    RecordField,
    Resolved,
    type_text,
)
from millstream.formats.compatibility.values import ComparedSides, SchemaDifference, join_path
from millstream.formats.format import SchemaError, SchemaFiles


def compare_avro(writer: SchemaFiles, reader: SchemaFiles, sides: ComparedSides) -> list[SchemaDifference]:
    one, other = _schema(writer), _schema(reader)
    return list(dict.fromkeys(_Comparison(one, other, sides).types(one.root, other.root, "")))


def _schema(files: SchemaFiles) -> AvroSchema:
    others = {name: text for name, text in files.texts.items() if name != files.path and not files.folders}
    return parse_schema(self_contained(files.texts[files.path], others))


class _Comparison:
    def __init__(self, writer: AvroSchema, reader: AvroSchema, sides: ComparedSides) -> None:
        self.writer, self.reader, self.sides = writer, reader, sides
        self.compared: dict[tuple[str, str], list[SchemaDifference]] = {}
        """By the names of two records, with paths within them."""

    def types(self, written: AvroType, expected: AvroType, path: str) -> list[SchemaDifference]:
        one, other = self.writer.resolved(written), self.reader.resolved(expected)
        match one, other:
            case AvroUnion(types=types), _:
                return [difference for type_ in types for difference in self.types(type_, other, path)]
            case _, AvroUnion():
                return self.union(one, other, path)
            case AvroPrimitive(), AvroPrimitive():
                fits = one.type == other.type or other.type in PROMOTIONS.get(one.type, ())
                return [] if fits else [self.mismatch(one, other, path)]
            case AvroArray(items=items), AvroArray(items=others):
                return self.types(items, others, f"{path}[]")
            case AvroMap(values=values), AvroMap(values=others):
                return self.types(values, others, f"{path}{{}}")
            case AvroFixed(), AvroFixed():
                return [*self.name(one, other, path), *self.size(one, other, path)]
            case AvroEnum(), AvroEnum():
                return [*self.name(one, other, path), *self.symbols(one, other, path)]
            case AvroRecord(), AvroRecord():
                return [*self.name(one, other, path), *self.records(one, other, path)]
            case _:
                return [self.mismatch(one, other, path)]

    def union(self, written: Resolved, expected: AvroUnion, path: str) -> list[SchemaDifference]:
        by_branch = [self.types(written, type_, path) for type_ in expected.types]
        if not all(by_branch):
            return []
        # The differences to the only type of the same kind say more than that no type fits.
        same = [
            differences
            for type_, differences in zip(expected.types, by_branch, strict=True)
            if self.reader.resolved(type_).type == written.type
        ]
        if len(same) == 1:
            return same[0]
        what = f"{self.sides.writer} records can have {type_text(written)}, which the {self.sides.reader} "
        return [SchemaDifference(path, "missing_union_branch", f"{what}schema does not allow")]

    def records(self, written: AvroRecord, expected: AvroRecord, path: str) -> list[SchemaDifference]:
        pair = (written.name, expected.name)
        if pair not in self.compared:
            self.compared[pair] = []  # a record within itself
            self.compared[pair] = list(self.fields(written, expected))
        return [
            replace(difference, path=join_path(path, difference.path)) for difference in self.compared[pair]
        ]

    def fields(self, written: AvroRecord, expected: AvroRecord) -> Iterable[SchemaDifference]:
        for field in expected.fields:
            match _written(written, field):
                case None if not field.has_default:
                    what = f"{self.sides.writer} records lack it, and the {self.sides.reader} schema has no "
                    yield SchemaDifference(field.name, "reader_field_missing_default_value", f"{what}default")
                case RecordField() as source:
                    yield from self.types(source.of, field.of, field.name)

    def name(
        self,
        written: AvroEnum | AvroFixed | AvroRecord,
        expected: AvroEnum | AvroFixed | AvroRecord,
        path: str,
    ) -> Iterable[SchemaDifference]:
        if not named_alike(written, expected):
            what = f"its type is called {expected.name} in the {self.sides.reader} schema, but "
            yield SchemaDifference(
                path, "name_mismatch", f"{what}{written.name} in the {self.sides.writer} one"
            )

    def size(self, written: AvroFixed, expected: AvroFixed, path: str) -> Iterable[SchemaDifference]:
        if written.size != expected.size:
            what = (
                f"it has {expected.size} bytes in the {self.sides.reader} schema, but {written.size} in the "
            )
            yield SchemaDifference(path, "fixed_size_mismatch", f"{what}{self.sides.writer} one")

    def symbols(self, written: AvroEnum, expected: AvroEnum, path: str) -> Iterable[SchemaDifference]:
        missing = [symbol for symbol in written.symbols if symbol not in expected.symbols]
        if missing and not expected.default:
            what = f"the {self.sides.reader} schema lacks {', '.join(missing)}, and has no default symbol"
            yield SchemaDifference(path, "missing_enum_symbols", what)

    def mismatch(self, written: Resolved, expected: Resolved, path: str) -> SchemaDifference:
        what = (
            f"it is {type_text(expected)} in the {self.sides.reader} schema, but {type_text(written)} in the "
        )
        return SchemaDifference(path, "type_mismatch", f"{what}{self.sides.writer} one")


def _written(written: AvroRecord, field: RecordField) -> RecordField | None:
    names = [field.name, *field.aliases]
    fields = [source for name in dict.fromkeys(names) for source in written.fields if source.name == name]
    if len(fields) > 1:
        raise SchemaError(
            field.name, f"it and its aliases match {', '.join(source.name for source in fields)}"
        )
    return fields[0] if fields else None
