"""Random Avro schemas with their values, and values as Spark has them."""

import io
import json
from datetime import datetime, time, timedelta, timezone
from decimal import Context, Decimal
from itertools import count
from uuid import UUID

import fastavro
from hypothesis import strategies as st

_NAMES = count()
_EXACT = Context(prec=100)
_MICROS = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1))  # noqa: DTZ001


def name(prefix):
    return f"{prefix}{next(_NAMES)}"


def parsed(schema):
    return fastavro.parse_schema(json.loads(json.dumps(schema)))


def encoded(schema, value):
    """Return the bytes of a value, written by fastavro."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed(schema), value)
    return out.getvalue()


def framed(schema_id, schema, value):
    """Write a value as Confluent's serializers do."""
    return b"\0" + schema_id.to_bytes(4, "big") + encoded(schema, value)


def judged(value, writer, reader=None):
    """Return what fastavro reads, and whether that are all bytes."""
    stream = io.BytesIO(value)
    read = fastavro.schemaless_reader(stream, parsed(writer), reader and parsed(reader))
    return read, not stream.read()


def _same(values):
    return values.map(lambda value: (value, value))


def _decimals(precision, scale):
    limit = 10**precision - 1
    values = st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-scale, _EXACT))
    return _same(values)


@st.composite
def _decimal(draw):
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
    if draw(st.booleans()):
        return {"type": "bytes", **logical}, _decimals(precision, scale)
    size = (10**precision).bit_length() // 8 + 1
    return {"type": "fixed", "name": name("Money"), "size": size, **logical}, _decimals(precision, scale)


@st.composite
def _named(draw):
    if draw(st.booleans()):
        size = draw(st.integers(0, 9))
        schema = {"type": "fixed", "name": name("Fixed"), "size": size}
        return schema, _same(st.binary(min_size=size, max_size=size))
    symbols = draw(st.lists(st.sampled_from("ABCDEFG"), min_size=1, unique=True))
    return {"type": "enum", "name": name("Enum"), "symbols": symbols}, _same(st.sampled_from(symbols))


def _time_of_day(moment_of_day, unit):
    moment = timedelta(
        hours=moment_of_day.hour,
        minutes=moment_of_day.minute,
        seconds=moment_of_day.second,
        microseconds=moment_of_day.microsecond,
    )
    return moment // unit


def _to_millis(timestamp):
    return timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)


_UTC = TIMES.map(lambda timestamp: timestamp.replace(tzinfo=timezone.utc))
_LONGS = st.integers(-(2**63), 2**63 - 1)
_PRIMITIVES = {
    "null": _same(st.none()),
    "boolean": _same(st.booleans()),
    "int": _same(st.integers(-(2**31), 2**31 - 1)),
    "long": _same(_LONGS),
    "float": _same(st.floats(width=32)),
    "double": _same(st.floats()),
    "string": _same(st.text()),
    "bytes": _same(st.binary()),
}
_LOGICAL = {
    ("int", "date"): _same(st.dates()),
    ("long", "timestamp-micros"): _same(_UTC),
    ("long", "timestamp-millis"): _same(_UTC.map(_to_millis)),
    ("long", "local-timestamp-micros"): _same(TIMES),
    ("long", "local-timestamp-millis"): _same(TIMES.map(_to_millis)),
    ("int", "time-millis"): st.times().map(
        lambda t: (_to_millis(t), _time_of_day(t, timedelta(milliseconds=1)))
    ),
    ("long", "time-micros"): st.times().map(lambda t: (t, _time_of_day(t, _MICROS))),
    ("string", "uuid"): st.uuids().map(lambda u: (u, str(u))),
}


@st.composite
def scalars(draw):
    kind = draw(st.sampled_from([*_PRIMITIVES, *_LOGICAL, "decimal", "named"]))
    if kind == "decimal":
        return draw(_decimal())
    if kind == "named":
        return draw(_named())
    if kind in _PRIMITIVES:
        return kind, _PRIMITIVES[kind]
    type_, logical = kind
    return {"type": type_, "logicalType": logical}, _LOGICAL[kind]


def type_name(schema):
    """Return the name by which fastavro finds a type of a union."""
    if isinstance(schema, str):
        return schema
    return schema["name"] if "name" in schema else schema["type"]


@st.composite
def types(draw, depth, unions=True):
    """Draw a schema, and a strategy of its values: as fastavro takes them, and as columns have them."""
    if not depth or draw(st.integers(0, 2)):
        return draw(scalars())
    kind = draw(st.sampled_from(["record", "array", "map", "nullable", *(["union"] if unions else [])]))
    if kind == "record":
        return draw(records(depth - 1, unions))
    if kind == "union":
        return draw(_union(depth))
    schema, values = draw(types(depth - 1, unions))
    if kind == "nullable":
        if schema == "null" or isinstance(schema, list):
            return schema, values
        order = [schema, "null"] if draw(st.booleans()) else ["null", schema]
        tagged = values.map(lambda pair: ((type_name(schema), pair[0]), pair[1]))
        return order, tagged | st.just((None, None))
    if kind == "array":
        return {"type": "array", "items": schema}, st.lists(values, max_size=4).map(
            lambda pairs: ([fast for fast, _ in pairs], [plain for _, plain in pairs])
        )
    return {"type": "map", "values": schema}, st.dictionaries(st.text(), values, max_size=4).map(
        lambda pairs: ({k: v[0] for k, v in pairs.items()}, {k: v[1] for k, v in pairs.items()})
    )


@st.composite
def _union(draw, depth):
    drawn = draw(st.lists(types(depth - 1), min_size=2, max_size=4))
    members = {
        type_name(schema): (schema, values) for schema, values in drawn if not isinstance(schema, list)
    }
    others = [key for key in members if key != "null"]
    schemas = [schema for schema, _ in members.values()]
    if not schemas:
        return draw(scalars())
    wide = {frozenset(["int", "long"]), frozenset(["float", "double"])}
    struct = len(others) > 1 and not (frozenset(others) in wide and all(isinstance(s, str) for s in schemas))

    def tagged(key):
        def placed(pair):
            fast, plain = pair
            if key == "null":
                return None, None
            row = {f"member{n}": plain if other == key else None for n, other in enumerate(others)}
            return (key, fast), row if struct else plain

        return members[key][1].map(placed)

    return schemas, st.one_of([tagged(key) for key in members])


@st.composite
def records(draw, depth=2, unions=True):
    columns = draw(st.lists(types(depth, unions), min_size=1, max_size=6))
    fields = {f"f{n}": pair for n, pair in enumerate(columns)}
    schema = {
        "type": "record",
        "name": name("Record"),
        "fields": [{"name": key, "type": schema} for key, (schema, _) in fields.items()],
    }
    return schema, st.fixed_dictionaries({key: values for key, (_, values) in fields.items()}).map(
        lambda row: ({k: v[0] for k, v in row.items()}, {k: v[1] for k, v in row.items()})
    )


def comparable(value):
    """Return a value in a form in which equal ones are equal: also NaN, and timestamps with and without zone."""
    match value:
        case dict():
            return {key: comparable(member) for key, member in value.items()}
        case list() | tuple():
            return [comparable(member) for member in value]
        case float():
            return value.hex()
        case bytearray():
            return bytes(value)
        case datetime() if value.tzinfo:
            micros = (value - _EPOCH) // _MICROS
            return datetime.fromtimestamp(micros // 10**6).replace(microsecond=micros % 10**6)  # noqa: DTZ006 - as PySpark
        case _:
            return value


class _AnyCase(str):
    """A text that equals others in another case, such as a UUID."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


def column_value(schema, value):
    """Return a value that fastavro read as columns have it. Unions have at most one type besides null."""
    if isinstance(schema, list):
        (inner,) = [branch for branch in schema if branch != "null"]
        return None if value is None else column_value(inner, value)
    kind = schema if isinstance(schema, str) else schema["type"]
    logical = "" if isinstance(schema, str) else schema.get("logicalType", "")
    match kind, value:
        case "record", _:
            return {f["name"]: column_value(f["type"], value[f["name"]]) for f in schema["fields"]}
        case "array", _:
            return [column_value(schema["items"], member) for member in value]
        case "map", _:
            return {key: column_value(schema["values"], member) for key, member in value.items()}
        case _, UUID():
            return _AnyCase(value)
        case _, time():
            return _time_of_day(value, timedelta(milliseconds=1) if logical == "time-millis" else _MICROS)
        case (("float" | "double"), int()):
            return float(value)
        case (("bytes" | "fixed"), str()):
            return value.encode("latin-1")
        case _:
            return value
