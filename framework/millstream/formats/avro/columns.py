"""The columns of a schema, and a schema of columns: the mapping of Spark's own Avro source.

Times of day have no type in Spark SQL by default: they are numbers of milliseconds or microseconds.
Null makes a column nullable; within types, all values are. A record within itself is a string: its JSON.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
)
from millstream.formats.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroReference,
    AvroSchema,
    AvroType,
    AvroUnion,
)
from millstream.formats.format import FieldCount, Fields, SchemaError

_MOST_DIGITS = 38
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES: dict[str, Type] = {
    "null": NULL,
    "boolean": BOOLEAN,
    "int": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": BINARY,
    "fixed": BINARY,
    "string": STRING,
}
_LOGICAL_TYPES: dict[str, Type] = {
    "date": DATE,
    "timestamp-millis": TIMESTAMP,
    "timestamp-micros": TIMESTAMP,
    "local-timestamp-millis": TIMESTAMP_NTZ,
    "local-timestamp-micros": TIMESTAMP_NTZ,
}
_AVRO: dict[Type, Any] = {
    BOOLEAN: "boolean",
    TINYINT: "int",
    SMALLINT: "int",
    INT: "int",
    BIGINT: "long",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "bytes",
    DATE: {"type": "int", "logicalType": "date"},
    TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
    TIMESTAMP_NTZ: {"type": "long", "logicalType": "local-timestamp-micros"},
}


def columns_of(schema: AvroSchema, single: str = "value") -> tuple[Field, ...]:
    """Return the columns of a schema: the fields of a record, otherwise a single one."""
    match schema.root:
        case AvroRecord():
            row = _Columns(schema, STRING).row(schema.root, "", ())
            pairs = zip(row.fields, schema.root.fields, strict=True)
            return tuple(Field(f.name, f.type, _is_nullable(of.of, schema)) for f, of in pairs)
        case other:
            return (
                Field(single, _Columns(schema, STRING).type(other, single, ()), _is_nullable(other, schema)),
            )


def text_type(record: AvroRecord, schema: AvroSchema) -> Row:
    """Return the type of the JSON of a record; what is within that of its own type is a variant."""
    return _Columns(schema, VARIANT).row(record, "", ())


def _is_nullable(type_: AvroType, schema: AvroSchema) -> bool:
    match schema.resolved(type_):
        case AvroUnion() as union:
            return len(schema.members(union)) < len(union.types)
        case other:
            return other == AvroPrimitive("null")


def contains_itself(record: AvroRecord, schema: AvroSchema) -> bool:
    """Whether a record may have one of its own type within it."""
    seen: set[str] = set()

    def reaches(type_: AvroType) -> bool:
        match type_:
            case AvroReference(name=name):
                if name in seen:
                    return name == record.name
                return name == record.name or reaches(schema.names[name])
            case AvroRecord(name=name, fields=fields):
                seen.add(name)
                return any(reaches(field.of) for field in fields)
            case AvroArray(items=inner) | AvroMap(values=inner):
                return reaches(inner)
            case AvroUnion(types=types):
                return any(map(reaches, types))
            case _:
                return False

    return any(reaches(field.of) for field in record.fields)


class _Columns(Struct, frozen=True):
    schema: AvroSchema
    cut: Type
    """The type of a record within itself."""
    count: FieldCount = msgspec.field(default_factory=FieldCount)

    def type(self, type_: AvroType, path: str, outer: tuple[str, ...]) -> Type:
        self.count.add(path)
        match type_:
            case AvroPrimitive() | AvroFixed() if type_.logical == "decimal":
                if type_.precision > _MOST_DIGITS:
                    reason = f"a decimal of {type_.precision} digits, but Spark's have at most {_MOST_DIGITS}"
                    raise SchemaError(path, reason)
                return Decimal(type_.precision, type_.scale)
            case AvroPrimitive() | AvroFixed():
                return _LOGICAL_TYPES.get(type_.logical, _TYPES[type_.type])
            case AvroEnum():
                return STRING
            case AvroArray(items=items):
                return Array(self.type(items, f"{path}[]", outer))
            case AvroMap(values=values):
                return Map(STRING, self.type(values, f"{path}{{}}", outer))
            case AvroUnion():
                return self.union(type_, path, outer)
            case AvroReference(name=name):
                return self.cut if name in outer else self.type(self.schema.names[name], path, outer)
            case AvroRecord():
                return self.row(type_, path, outer)

    def row(self, record: AvroRecord, path: str, outer: tuple[str, ...]) -> Row:
        fields: dict[str, Field] = {}
        for field in record.fields:
            inner = f"{path}.{field.name}" if path else field.name
            if other := fields.get(field.name.lower()):
                raise SchemaError(inner, f"Spark does not distinguish it from {other.name}")
            fields[field.name.lower()] = Field(field.name, self.type(field.of, inner, (*outer, record.name)))
        return Row(tuple(fields.values()))

    def union(self, union: AvroUnion, path: str, outer: tuple[str, ...]) -> Type:
        if self.schema.is_struct(union):
            members = enumerate(self.schema.members(union))
            return Row(
                tuple(
                    Field(f"member{n}", self.type(union.types[i], f"{path}.member{n}", outer))
                    for n, i in members
                )
            )
        largest = self.schema.largest(union)
        return NULL if largest is None else self.type(union.types[largest], path, outer)


def schema_of(fields: Fields, name: str) -> str:
    """Return the JSON of a record with a full name; all fields are nullable, and NULL by default."""
    return msgspec.json.encode(_record(fields, name, "")).decode()


def schema_of_single(type_: Type, name: str) -> str:
    """Return the JSON of the schema of a type, whose values are never NULL."""
    return msgspec.json.encode(_written(type_, name, "")).decode()


def _record(fields: Fields, name: str, path: str) -> dict[str, Any]:
    written = []
    for field in fields:
        inner = f"{path}.{field.name}" if path else field.name
        if not _NAME.fullmatch(field.name):
            raise SchemaError(inner, "the name is not one of Avro's: letters A to Z, digits and underscores")
        written.append(
            {
                "name": field.name,
                "type": _nullable(field.type, f"{name}.{field.name}", inner),
                "default": None,
            }
        )
    return {"type": "record", "name": name, "fields": written}


def _nullable(type_: Type, name: str, path: str) -> Any:
    return "null" if type_ == NULL else ["null", _written(type_, name, path)]


def _written(type_: Type, name: str, path: str) -> Any:
    """Return the schema of a type; the name is that of its record, if it is one."""
    match type_:
        case Decimal(precision=precision, scale=scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case Array(element=element):
            return {"type": "array", "items": _nullable(element, name, f"{path}[]")}
        case Map(key=key, value=value):
            if key != STRING:
                raise SchemaError(path, f"the keys of Avro's maps are strings, not {key}")
            return {"type": "map", "values": _nullable(value, name, f"{path}{{}}")}
        case Row(fields=fields):
            return _record(fields, name, path)
        case _ if type_ in _AVRO:
            return _AVRO[type_]
        case _:
            raise SchemaError(path, f"Avro has no type for {type_}")


def with_defaults(schema: AvroSchema) -> tuple[str, ...]:
    """Return the fields that a writer may leave out."""
    root = schema.root
    return (
        tuple(field.name for field in root.fields if field.has_default)
        if isinstance(root, AvroRecord)
        else ()
    )


def is_lossless(type_: Type) -> bool:
    """Whether a derived schema holds a type as it is."""
    match type_:
        case Decimal():
            return True
        case Array(element=element):
            return is_lossless(element)
        case Map(key=key, value=value):
            return key == STRING and is_lossless(value)
        case Row(fields=fields):
            return all(is_lossless(field.type) for field in fields)
        case _:
            return type_ in _AVRO
