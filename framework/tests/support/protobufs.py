"""Random schemas and messages of Protobuf, and what its own runtime says that a message holds."""

import math
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from google.protobuf import duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

from millstream.formats.protobuf.schema import message_type

WELL_KNOWN = (duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
WELL_KNOWN_TYPES = (
    *("Timestamp", "Duration", "Struct", "Value", "ListValue", "Int32Value", "UInt32Value", "Int64Value"),
    *("UInt64Value", "BoolValue", "StringValue", "BytesValue", "FloatValue", "DoubleValue"),
)
TYPES = {name.removeprefix("TYPE_").lower(): number for name, number in FieldDescriptorProto.Type.items()}
NAMES = {number: name for name, number in TYPES.items()}
KEYS = (*("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64"), "sfixed32", "sfixed64", "bool", "string")  # fmt: skip
SCALARS = (*KEYS, "double", "float", "bytes")
BITS = {"32": 32, "64": 64}
TEXTS = ("", "a", "Zürich €", "𝄞", "\0", "line\n'quoted'\\", "x" * 200)
DOUBLES = (0.0, -0.0, 1.5, -1e-300, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 0.1)
FLOATS = (0.0, -0.0, 1.5, -(2.0**-140), 3.4028234663852886e38, math.inf, -math.inf, math.nan)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def random_schema(random):
    """Return a descriptor set whose message `p.M0` has fields of all kinds; messages don't contain themselves."""
    proto3 = random.random() < 0.6
    file = FileDescriptorProto(name="p.proto", package="p", syntax="proto3" if proto3 else "proto2")
    file.dependency.extend(well_known.DESCRIPTOR.name for well_known in WELL_KNOWN)
    enum = file.enum_type.add(name="E")
    numbers = [0, 1, 5, 2**31 - 1, -(2**31), -1]
    for index, number in enumerate(numbers if proto3 else random.sample(numbers, len(numbers))):
        enum.value.add(name=f"E{index}", number=number)
    count = random.randint(1, 3)
    for index in range(count):
        _message(random, file.message_type.add(name=f"M{index}"), range(index + 1, count), proto3)
    files = [FileDescriptorProto() for _ in WELL_KNOWN]
    for target, well_known in zip(files, WELL_KNOWN, strict=True):
        well_known.DESCRIPTOR.CopyToProto(target)
    return FileDescriptorSet(file=[*files, file]).SerializeToString()


def _message(random, message, others, proto3):
    numbers = random.sample([*range(1, 17), 127, 128, 2047, 2048, 18999, 2**29 - 1], random.randint(1, 9))
    if random.random() < 0.4:
        message.oneof_decl.add(name="choice")
    for index, number in enumerate(numbers):
        name = f"f{index}"
        kind = random.choice(
            ("scalar", "scalar", "enum", "message", "well_known", "repeated", "map", "group")
        )
        if kind == "map":
            _map(random, message, name, number, others)
            continue
        field = message.field.add(name=name, number=number, label=1)
        if kind == "group" and not proto3:
            field.type, field.type_name = TYPES["group"], f".p.{message.name}.G{index}"
            message.nested_type.add(name=f"G{index}").field.add(
                name="x", number=3, label=1, type=TYPES["sint64"]
            )
        else:
            _type(random, field, others, kind)
        if kind == "repeated":
            field.label = 3
            if field.type_name == "" and NAMES[field.type] not in {"string", "bytes"}:
                field.options.packed = random.random() < 0.5
        elif message.oneof_decl and random.random() < 0.4:
            field.oneof_index = 0
        elif not proto3:
            _presence2(random, field)
        elif field.type_name not in {"", ".p.E"} or random.random() < 0.3:
            field.proto3_optional = not field.type_name or field.type_name == ".p.E"
    if message.oneof_decl and not any(field.HasField("oneof_index") for field in message.field):
        del message.oneof_decl[:]
    for field in message.field:
        if field.proto3_optional:
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


def _presence2(random, field):
    chance = random.random()
    if chance < 0.15:
        field.label = 2
    elif chance < 0.4:
        match NAMES[field.type]:
            case "string":
                field.default_value = "given"
            case "bool":
                field.default_value = "true"
            case "enum":
                field.default_value = "E2"
            case "float" | "double":
                field.default_value = "2.5"
            case "message" | "group" | "bytes":
                pass
            case _:
                field.default_value = "7"


def _type(random, field, others, kind):
    if kind == "enum" or (kind == "repeated" and random.random() < 0.2):
        field.type, field.type_name = TYPES["enum"], ".p.E"
    elif kind == "well_known" or (kind == "repeated" and random.random() < 0.2):
        field.type, field.type_name = (
            TYPES["message"],
            f".google.protobuf.{random.choice(WELL_KNOWN_TYPES)}",
        )
    elif others and (kind == "message" or (kind == "repeated" and random.random() < 0.3)):
        field.type, field.type_name = TYPES["message"], f".p.M{random.choice(others)}"
    else:
        field.type = TYPES[random.choice(SCALARS)]


def _map(random, message, name, number, others):
    entry = message.nested_type.add(name=f"{name.upper()}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=TYPES[random.choice(KEYS)])
    value = entry.field.add(name="value", number=2, label=1)
    _type(random, value, others, random.choice(("scalar", "message", "well_known")))
    message.field.add(
        name=name,
        number=number,
        label=3,
        type=TYPES["message"],
        type_name=f".p.{message.name}.{name.upper()}Entry",
    )


def new_message(descriptors, name):
    return GetMessageClass(message_type(descriptors, name))()


def fill(random, message, depth=20):
    """Set some fields of a message, and all that are required, to random values; at some depth, no more messages."""
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and random.random() < 0.3:
            continue
        if field.message_type and not depth and not field.is_required:
            continue
        target = getattr(message, field.name)
        if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
            by_name = field.message_type.fields_by_name
            for _ in range(random.randint(0, 3)):
                key = random_scalar(random, by_name["key"])
                if by_name["value"].message_type:
                    _fill_single(random, target[key], depth - 1)
                else:
                    target[key] = random_scalar(random, by_name["value"])
        elif field.is_repeated:
            for _ in range(random.randint(0, 3)):
                if field.message_type:
                    _fill_single(random, target.add(), depth - 1)
                else:
                    target.append(random_scalar(random, field))
        elif field.message_type:
            target.SetInParent()
            _fill_single(random, target, depth - 1)
        else:
            setattr(message, field.name, random_scalar(random, field))


def _fill_single(random, message, depth):
    match message.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            message.seconds = random.choice((0, 1, -1, 1_700_000_000, -62_135_000_000, 253_402_300_799))
            message.nanos = random.choice((0, 1000, 999_999_000))
        case "google.protobuf.Duration":
            message.seconds = random.choice((0, 5, 10**9))
            message.nanos = random.choice((0, 1000, 999_999_000))
            if random.random() < 0.5:
                message.seconds, message.nanos = -message.seconds, -message.nanos
        case "google.protobuf.Struct":
            message.update({"a": 1, "b": [None, True, "Zürich", {"c": -2.5e-300}], "": {}})
        case "google.protobuf.ListValue":
            message.extend([1e22, [], 2**53, "x"])
        case "google.protobuf.Value":
            message.number_value = random.choice((0.0, -0.5, 1e300))
        case _:
            fill(random, message, depth)


def random_scalar(random, field):
    name = NAMES[field.type]
    match name:
        case "bool":
            return random.random() < 0.5
        case "string":
            return random.choice(TEXTS)
        case "bytes":
            return random.choice((b"", b"\0", b"\xff\xfe", b"abc" * 50))
        case "double":
            return random.choice(DOUBLES)
        case "float":
            return random.choice(FLOATS)
        case "enum":
            return random.choice(field.enum_type.values).number
    bits = BITS[name[-2:]]
    if name.startswith(("uint", "fixed")):
        return random.choice((0, 1, 127, 128, 2**bits - 1, 2 ** (bits - 1), random.getrandbits(bits)))
    half = 2 ** (bits - 1)
    return random.choice((0, 1, -1, 63, -64, half - 1, -half, random.getrandbits(bits) - half))


def held(message):
    """Return what a message holds, as a row of Spark's does, asking the runtime alone."""
    row = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
            value_field = field.message_type.fields_by_name["value"]
            key = field.message_type.fields_by_name["key"]
            row[field.name] = {_single(k, key): _single(value[k], value_field) for k in value}
        elif field.is_repeated:
            row[field.name] = [_single(member, field) for member in value]
        elif field.has_presence and not message.HasField(field.name) and not field.has_default_value:
            row[field.name] = None
        else:
            row[field.name] = _single(value, field)
    return row


def _single(value, field):
    name = field.message_type.full_name if field.message_type else NAMES[field.type]
    match name:
        case "uint64" | "fixed64":
            return Decimal(value)
        case "enum":
            return field.enum_type.values_by_number[value].name
        case "google.protobuf.Timestamp" | "google.protobuf.Duration":
            # Spark has microseconds: times are cut to the one before, durations towards zero.
            microseconds = value.nanos // 1000 if name.endswith("Timestamp") else int(value.nanos / 1000)
            duration = timedelta(seconds=value.seconds, microseconds=microseconds)
            return EPOCH + duration if name.endswith("Timestamp") else duration
        case "google.protobuf.Struct":
            return {key: _single(value.fields[key], value.DESCRIPTOR.fields_by_name["fields"].message_type.fields_by_name["value"]) for key in value.fields}  # fmt: skip
        case "google.protobuf.ListValue":
            return [_single(member, value.DESCRIPTOR.fields_by_name["values"]) for member in value.values]
        case "google.protobuf.Value":
            kind = value.WhichOneof("kind")
            assert kind is not None
            if kind == "number_value":
                assert math.isfinite(value.number_value)
            if kind in {"struct_value", "list_value"}:
                return _single(getattr(value, kind), value.DESCRIPTOR.fields_by_name[kind])
            return None if kind == "null_value" else getattr(value, kind)
    if name.startswith("google.protobuf.") and name.endswith("Value"):
        return _single(value.value, value.DESCRIPTOR.fields_by_name["value"])
    return held(value) if field.message_type else value


def comparable(value):
    """Return a value that equals another only if all bits are the same; NaN equals itself."""
    match value:
        case float():
            return "nan" if math.isnan(value) else repr(value)
        case dict():
            return {key: comparable(member) for key, member in value.items()}
        case list():
            return [comparable(member) for member in value]
        case bytearray():
            return bytes(value)
        case datetime():
            return value.astimezone(timezone.utc)
        case _:
            return value


def messages_of(folder, files):
    """Compile files by Google's own compiler; return a function from the name of a message to its class."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    out = folder / "set"
    google = str(protoc.__file__).rpartition("/")[0] + "/_proto"
    paths = [str(folder / name) for name in files]
    assert protoc.main(["", f"-I{folder}", f"-I{google}", "--include_imports", f"-o{out}", *paths]) == 0
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    return lambda name: GetMessageClass(pool.FindMessageTypeByName(name))
