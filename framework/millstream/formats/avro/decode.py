"""Reads values by a writer's and a reader's schema, resolved as Avro's Java library does."""

from __future__ import annotations

from typing import Any

from millstream.formats.avro.binary import AvroInput
from millstream.formats.avro.columns import text_type
from millstream.formats.avro.defaults import value_of
from millstream.formats.avro.encode import write_avro
from millstream.formats.avro.match import matching_branch, named_alike, same_union
from millstream.formats.avro.skip import skip_value
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
    type_text,
)
from millstream.formats.avro.values import logical_kind, logical_value
from millstream.formats.json_values import write_json
from millstream.formats.reasons import add_context, not_a
from millstream.formats.values import UnfitError

_DEEPEST = 100
"""How many records may be within each other, as texts."""


class AvroReader:
    """Reads values that were written with one schema, as those of another one."""

    def __init__(self, written: AvroSchema, expected: AvroSchema) -> None:
        self.written = written
        self.expected = expected
        self.outer: tuple[str, ...] = ()
        """The records around a value: one within a record of its own type is read as a text."""
        self.texts = 0
        """How many of the records around a value are texts."""

    def read(self, input_: AvroInput) -> Any:
        return self.value(input_, self.written.root, self.expected.root)

    def value(self, input_: AvroInput, written: AvroType, expected: AvroType) -> Any:
        match self.written.resolved(written), self.expected.resolved(expected):
            case ((AvroUnion(types=types) as one), other):
                index = input_.read_index(len(types), "a type of the union")
                if isinstance(other, AvroUnion) and same_union(one, other, self.written, self.expected):
                    return self.member(input_, types[index], other, index)
                return self.value(input_, types[index], other)
            case one, (AvroUnion() as other):
                matched = matching_branch(one, other, self.written, self.expected)
                if matched is None:
                    raise unresolved_error(one, other)
                return self.member(input_, one, other, matched)
            case ((AvroRecord() as one), (AvroRecord() as other)):
                return self.record(input_, one, other)
            case ((AvroArray() as one), (AvroArray() as other)):
                return self.elements(input_, one, other)
            case ((AvroMap() as one), (AvroMap() as other)):
                return self.entries(input_, one, other)
            case ((AvroEnum() as one), (AvroEnum() as other)) if named_alike(one, other):
                return read_symbol(input_, one, other)
            case ((AvroPrimitive() | AvroFixed() as one), (AvroPrimitive() | AvroFixed() as other)):
                return read_scalar(input_, one, other)
            case one, other:
                raise unresolved_error(one, other)

    def member(self, input_: AvroInput, written: AvroType, union: AvroUnion, index: int) -> Any:
        value = self.value(input_, written, union.types[index])
        members = self.expected.members(union)
        if not self.expected.is_struct(union) or index not in members:
            return value
        return {f"member{n}": value if i == index else None for n, i in enumerate(members)}

    def record(self, input_: AvroInput, written: AvroRecord, expected: AvroRecord) -> Any:
        outer, is_text = self.outer, expected.name in self.outer
        self.outer = (expected.name,) if is_text else (*outer, expected.name)
        self.texts += is_text
        if self.texts > _DEEPEST:
            raise UnfitError(f"records are nested more than {_DEEPEST} levels deep")
        try:
            row = self.row(input_, written, expected)
        finally:
            self.outer = outer
            self.texts -= is_text
        return write_json(row, text_type(expected, self.expected)) if is_text else row

    def row(self, input_: AvroInput, written: AvroRecord, expected: AvroRecord) -> dict[str, Any]:
        names = field_names(written, expected)
        fields = {field.name: field for field in expected.fields}
        for field in expected.fields:
            if field.name not in names and not field.has_default:
                reason = f"the writer's schema lacks field {field.name}, which has no default"
                raise UnfitError(reason)
        row = {field.name: self.default(field) for field in expected.fields if field.name not in names}
        input_.enter()
        for name, written_field in zip(names, written.fields, strict=True):
            try:
                if name in fields:
                    row[name] = self.value(input_, written_field.of, fields[name].of)
                else:
                    skip_value(input_, written_field.of, self.written)
            except UnfitError as error:
                raise add_context(name, error) from None
        input_.leave()
        return {field.name: row[field.name] for field in expected.fields}

    def default(self, field: RecordField) -> Any:
        value = value_of(field.default, field.of, self.expected)
        if not isinstance(value, dict | list):
            return value
        # There may be records within their own type.
        reader = AvroReader(self.expected, self.expected)
        reader.outer = self.outer
        return reader.value(AvroInput(write_avro(value, field.of, self.expected), 0), field.of, field.of)

    def elements(self, input_: AvroInput, written: AvroArray, expected: AvroArray) -> list[Any]:
        values = []
        for index in input_.items():
            try:
                values.append(self.value(input_, written.items, expected.items))
            except UnfitError as error:
                raise add_context(f"[{index}]", error) from None
        return values

    def entries(self, input_: AvroInput, written: AvroMap, expected: AvroMap) -> dict[str, Any]:
        values = {}
        for _ in input_.items():
            key = input_.read_string()
            try:
                values[key] = self.value(input_, written.values, expected.values)
            except UnfitError as error:
                raise add_context(key, error) from None
        return values


def field_names(written: AvroRecord, expected: AvroRecord) -> list[str]:
    """Return the names that a reader has for a writer's fields."""
    if written.name not in {expected.name, *expected.aliases}:
        return [field.name for field in written.fields]
    renamed = {alias: field.name for field in expected.fields for alias in field.aliases}
    return [renamed.get(field.name, field.name) for field in written.fields]


def read_symbol(input_: AvroInput, written: AvroEnum, expected: AvroEnum) -> str:
    name = written.symbols[input_.read_index(len(written.symbols), "a symbol")]
    if name in expected.symbols:
        return name
    if expected.default:
        return expected.default
    raise not_a(name, f"a symbol of {expected.name}")


def read_scalar(
    input_: AvroInput, written: AvroPrimitive | AvroFixed, expected: AvroPrimitive | AvroFixed
) -> Any:
    if (
        written.logical
        and expected.logical
        and logical_kind(written.logical) != logical_kind(expected.logical)
    ):
        raise unresolved_error(written, expected)
    return logical_value(read_primitive(input_, written, expected), written, expected)


def read_primitive(
    input_: AvroInput, written: AvroPrimitive | AvroFixed, expected: AvroPrimitive | AvroFixed
) -> Any:
    match written.type, expected.type:
        case "fixed", "fixed":
            assert isinstance(written, AvroFixed)
            assert isinstance(expected, AvroFixed)
            if not named_alike(written, expected) or written.size != expected.size:
                raise unresolved_error(written, expected)
            return input_.take(written.size)
        case "null", "null":
            return None
        case "boolean", "boolean":
            return input_.read_boolean()
        case "int", "int" | "long":
            return input_.read_int()
        case "long", "long":
            return input_.read_long()
        case "int" | "long", "float" | "double":
            return exact_float(
                input_.read_int() if written.type == "int" else input_.read_long(), expected.type
            )
        case "float", "float" | "double":
            return input_.read_float()
        case "double", "double":
            return input_.read_double()
        case "string" | "bytes", "string":
            return input_.read_string()
        case "string" | "bytes", "bytes":
            return input_.read_bytes()
        case _:
            raise unresolved_error(written, expected)


def exact_float(number: int, type_: str) -> float:
    """Return an integer as a float or a double, if that loses nothing."""
    bits = 24 if type_ == "float" else 53
    if number and (abs(number) // (number & -number)).bit_length() > bits:
        raise not_a(number, f"a {type_}")
    return float(number)


def unresolved_error(written: AvroType, expected: AvroType) -> UnfitError:
    """Return why a value can't be read by the reader's schema, as Spark's functions word it."""
    return UnfitError(f"the writer's {type_text(written)} can't be read as {type_text(expected)}")
