"""Reads values by a writer's and a reader's schema, resolved as Avro's Java library does."""

from __future__ import annotations

from typing import Any

from millstream.formats.avro.binary import Input
from millstream.formats.avro.columns import text_type
from millstream.formats.avro.defaults import value_of
from millstream.formats.avro.encode import write
from millstream.formats.avro.match import matching, named_alike, same_union
from millstream.formats.avro.messages import unresolved
from millstream.formats.avro.skip import skip
from millstream.formats.avro.types import (
    AvroType,
    Dictionary,
    Enum,
    Fixed,
    List,
    Primitive,
    Record,
    RecordField,
    Schema,
    Union,
)
from millstream.formats.avro.values import kind, logical_value
from millstream.formats.json_values import write_json
from millstream.formats.reasons import not_a, within
from millstream.formats.values import UnfitError

_DEEPEST = 100
"""How many records may be within each other, as texts."""


class Reader:
    """Reads values that were written with one schema, as those of another one."""

    def __init__(self, written: Schema, wanted: Schema) -> None:
        self.written = written
        self.wanted = wanted
        self.outer: tuple[str, ...] = ()
        """The records around a value: one within a record of its own type is read as a text."""
        self.texts = 0
        """How many of the records around a value are texts."""

    def read(self, found: Input) -> Any:
        return self.value(found, self.written.root, self.wanted.root)

    def value(self, found: Input, written: AvroType, wanted: AvroType) -> Any:
        match self.written.resolved(written), self.wanted.resolved(wanted):
            case ((Union(types=types) as one), other):
                index = found.read_index(len(types), "a type of the union")
                if isinstance(other, Union) and same_union(one, other, self.written, self.wanted):
                    return self.member(found, types[index], other, index)
                return self.value(found, types[index], other)
            case one, (Union() as other):
                place = matching(one, other, self.written, self.wanted)
                if place is None:
                    raise unresolved(one, other)
                return self.member(found, one, other, place)
            case ((Record() as one), (Record() as other)):
                return self.record(found, one, other)
            case ((List() as one), (List() as other)):
                return self.elements(found, one, other)
            case ((Dictionary() as one), (Dictionary() as other)):
                return self.entries(found, one, other)
            case ((Enum() as one), (Enum() as other)) if named_alike(one, other):
                return symbol(found, one, other)
            case ((Primitive() | Fixed() as one), (Primitive() | Fixed() as other)):
                return scalar(found, one, other)
            case one, other:
                raise unresolved(one, other)

    def member(self, found: Input, written: AvroType, union: Union, index: int) -> Any:
        value = self.value(found, written, union.types[index])
        members = self.wanted.members(union)
        if not self.wanted.is_struct(union) or index not in members:
            return value
        return {f"member{n}": value if i == index else None for n, i in enumerate(members)}

    def record(self, found: Input, written: Record, wanted: Record) -> Any:
        outer, is_text = self.outer, wanted.name in self.outer
        self.outer = (wanted.name,) if is_text else (*outer, wanted.name)
        self.texts += is_text
        if self.texts > _DEEPEST:
            raise UnfitError(f"records are nested more than {_DEEPEST} levels deep")
        try:
            row = self.row(found, written, wanted)
        finally:
            self.outer = outer
            self.texts -= is_text
        return write_json(row, text_type(wanted, self.wanted)) if is_text else row

    def row(self, found: Input, written: Record, wanted: Record) -> dict[str, Any]:
        names = field_names(written, wanted)
        fields = {field.name: field for field in wanted.fields}
        for field in wanted.fields:
            if field.name not in names and not field.has_default:
                reason = f"the writer's schema lacks field {field.name}, which has no default"
                raise UnfitError(reason)
        row = {field.name: self.default(field) for field in wanted.fields if field.name not in names}
        found.enter()
        for name, each in zip(names, written.fields, strict=True):
            try:
                if name in fields:
                    row[name] = self.value(found, each.of, fields[name].of)
                else:
                    skip(found, each.of, self.written)
            except UnfitError as error:
                raise within(name, error) from None
        found.leave()
        return {field.name: row[field.name] for field in wanted.fields}

    def default(self, field: RecordField) -> Any:
        value = value_of(field.default, field.of, self.wanted)
        if not isinstance(value, dict | list):
            return value
        # There may be records within their own type.
        own = Reader(self.wanted, self.wanted)
        own.outer = self.outer
        return own.value(Input(write(value, field.of, self.wanted), 0), field.of, field.of)

    def elements(self, found: Input, written: List, wanted: List) -> list[Any]:
        values = []
        for index in found.items():
            try:
                values.append(self.value(found, written.items, wanted.items))
            except UnfitError as error:
                raise within(f"[{index}]", error) from None
        return values

    def entries(self, found: Input, written: Dictionary, wanted: Dictionary) -> dict[str, Any]:
        values = {}
        for _ in found.items():
            key = found.read_string()
            try:
                values[key] = self.value(found, written.values, wanted.values)
            except UnfitError as error:
                raise within(key, error) from None
        return values


def field_names(written: Record, wanted: Record) -> list[str]:
    """Return the names that a reader has for a writer's fields."""
    if written.name not in {wanted.name, *wanted.aliases}:
        return [field.name for field in written.fields]
    renamed = {alias: field.name for field in wanted.fields for alias in field.aliases}
    return [renamed.get(field.name, field.name) for field in written.fields]


def symbol(found: Input, written: Enum, wanted: Enum) -> str:
    name = written.symbols[found.read_index(len(written.symbols), "a symbol")]
    if name in wanted.symbols:
        return name
    if wanted.default:
        return wanted.default
    raise not_a(name, f"a symbol of {wanted.name}")


def scalar(found: Input, written: Primitive | Fixed, wanted: Primitive | Fixed) -> Any:
    if written.logical and wanted.logical and kind(written.logical) != kind(wanted.logical):
        raise unresolved(written, wanted)
    return logical_value(plain(found, written, wanted), written, wanted)


def plain(found: Input, written: Primitive | Fixed, wanted: Primitive | Fixed) -> Any:
    match written.type, wanted.type:
        case "fixed", "fixed":
            assert isinstance(written, Fixed)
            assert isinstance(wanted, Fixed)
            if not named_alike(written, wanted) or written.size != wanted.size:
                raise unresolved(written, wanted)
            return found.take(written.size)
        case "null", "null":
            return None
        case "boolean", "boolean":
            return found.read_boolean()
        case "int", "int" | "long":
            return found.read_int()
        case "long", "long":
            return found.read_long()
        case "int" | "long", "float" | "double":
            return exact(found.read_int() if written.type == "int" else found.read_long(), wanted.type)
        case "float", "float" | "double":
            return found.read_float()
        case "double", "double":
            return found.read_double()
        case "string" | "bytes", "string":
            return found.read_string()
        case "string" | "bytes", "bytes":
            return found.read_bytes()
        case _:
            raise unresolved(written, wanted)


def exact(number: int, type_: str) -> float:
    """Return an integer as a float or a double, if that loses nothing."""
    bits = 24 if type_ == "float" else 53
    if number and (abs(number) // (number & -number)).bit_length() > bits:
        raise not_a(number, f"a {type_}")
    return float(number)
