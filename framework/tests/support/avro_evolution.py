"""Random pairs of schemas, a writer's and a reader's, with values of the writer's."""

from hypothesis import strategies as st

from support.avro import name, scalars, type_name

_PROMOTIONS = [
    *(("int", wide) for wide in ("long", "float", "double")),
    *(("long", wide) for wide in ("float", "double")),
    ("float", "double"),
    ("string", "bytes"),
    ("bytes", "string"),
]
_SMALL = {
    "int": st.integers(-(2**24), 2**24),
    "long": st.integers(-(2**53), 2**53) | st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "string": st.text(),
    "bytes": st.binary() | st.text().map(str.encode),
}
_ADDED = st.sampled_from(
    [
        ("int", 5),
        ("double", 1.5),
        ("boolean", True),
        ("string", "é"),
        ("bytes", "ÿ\0"),
        (["null", "int"], None),
        (["int", "null"], 3),
        ({"type": "array", "items": "long"}, [1, 2]),
        ({"type": "map", "values": "string"}, {"a": "b"}),
    ]
)


@st.composite
def _promoted(draw):
    writer, reader = draw(st.sampled_from(_PROMOTIONS))
    return writer, reader, _SMALL[writer]


@st.composite
def _enums(draw):
    written, symbols = (draw(st.lists(st.sampled_from("ABCDE"), min_size=1, unique=True)) for _ in range(2))
    writer = {"type": "enum", "name": name("Enum"), "symbols": written}
    reader = {**writer, "symbols": symbols}
    if draw(st.booleans()):
        reader["default"] = symbols[0]
    return writer, reader, st.sampled_from(written)


@st.composite
def _units(draw):
    """Draw times of other units: the values stay the same."""
    local = draw(st.sampled_from(["", "local-"]))
    writer, reader = (
        {"type": "long", "logicalType": f"{local}timestamp-{draw(st.sampled_from(['millis', 'micros']))}"}
        for _ in range(2)
    )
    return writer, reader, st.integers(-(10**12), 10**12)


@st.composite
def _decimals(draw):
    def decimal():
        precision = draw(st.integers(1, 12))
        scale = draw(st.integers(0, precision))
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}

    writer, reader = decimal(), decimal()
    limit = 10 ** writer["precision"] - 1
    values = st.integers(-limit, limit).map(lambda n: n.to_bytes(6, "big", signed=True))
    return writer, reader, values


@st.composite
def _nullable(draw, depth):
    writer, reader, values = draw(pairs(depth - 1))
    if isinstance(writer, list) or "null" in (writer, reader):
        return writer, reader, values
    tagged = values.map(lambda value: (type_name(writer), value)) | st.none()
    match draw(st.integers(0, 2)):
        case 0 if not isinstance(reader, list):
            return writer, ["null", reader], values
        case 1 if not isinstance(reader, list):
            return [writer, "null"], ["null", reader], tagged
        case _:
            return ["null", writer], reader, tagged


@st.composite
def pairs(draw, depth):
    if not depth or draw(st.booleans()):
        kind = draw(st.sampled_from(["same", "promoted", "enums", "units", "decimals"]))
        if kind == "same":
            schema, values = draw(scalars())
            return schema, schema, values.map(lambda pair: pair[0])
        return draw(
            {"promoted": _promoted(), "enums": _enums(), "units": _units(), "decimals": _decimals()}[kind]
        )
    kind = draw(st.sampled_from(["array", "map", "nullable", "record"]))
    if kind == "nullable":
        return draw(_nullable(depth))
    if kind == "record":
        return draw(record_pairs(depth - 1))
    writer, reader, values = draw(pairs(depth - 1))
    key = {"array": "items", "map": "values"}[kind]
    many = st.lists(values, max_size=3) if kind == "array" else st.dictionaries(st.text(), values, max_size=3)
    return {"type": kind, key: writer}, {"type": kind, key: reader}, many


@st.composite
def record_pairs(draw, depth=2):
    """Draw records whose fields were moved, renamed, added, removed, or changed their types."""
    title = name("Record")
    written, fields, values = [], [], {}
    for n, (writer, reader, strategy) in enumerate(draw(st.lists(pairs(depth), min_size=1, max_size=5))):
        field = f"f{n}"
        values[field] = strategy
        written.append({"name": field, "type": writer})
        match draw(st.integers(0, 5)):
            case 0 if fields:
                pass  # removed
            case 1:
                fields.append({"name": f"new{n}", "type": reader, "aliases": [field]})
            case _:
                fields.append({"name": field, "type": reader})
    for n, (schema, default) in enumerate(draw(st.lists(_ADDED, max_size=2))):
        fields.append({"name": f"added{n}", "type": schema, "default": default})
    if not draw(st.integers(0, 15)):
        fields.append({"name": "required", "type": "int"})
    reader = {"type": "record", "name": title, "fields": draw(st.permutations(fields))}
    if draw(st.booleans()):
        reader |= {"name": f"{title}New", "aliases": [title]}
    return {"type": "record", "name": title, "fields": written}, reader, st.fixed_dictionaries(values)
