"""Random pairs of schemas: a schema, and the same one after a few edits. A seed gives the same pair everywhere."""

import copy
import json
from random import Random

PRIMITIVES = ("boolean", "int", "long", "float", "double", "bytes", "string")
SCALARS = ("int32", "int64", "sint32", "sint64", "fixed32", "fixed64", "double", "bool", "string", "bytes")


def avro_pair(seed):
    random = Random(f"avro {seed}")
    old = _Avro(random).record(2)
    new = copy.deepcopy(old)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _edit_avro(random, new)
    return json.dumps(old), json.dumps(new)


class _Avro:
    def __init__(self, random):
        self.random, self.names = random, 0

    def name(self, kind):
        self.names += 1
        return f"{kind}{self.names}"

    def record(self, depth):
        count = self.random.randint(1, 4)
        name = self.name("R")
        return {"type": "record", "name": name, "fields": [self.field(f"f{i}", depth) for i in range(count)]}

    def field(self, name, depth):
        of = self.type(depth)
        field = {"name": name, "type": of}
        if of == "string" and self.random.random() < 0.4:
            field["default"] = "x"
        if isinstance(of, list) and of[0] == "null":
            field["default"] = None
        return field

    def type(self, depth):
        kind = self.random.choice(
            ("scalar", "scalar", "scalar", "nullable", "union", "array", "map", "enum", "fixed", "record")
        )
        if depth == 0 or kind == "scalar":
            return self.random.choice(PRIMITIVES)
        match kind:
            case "nullable":
                return ["null", self.type(0)]
            case "union":
                return self.random.sample(PRIMITIVES, self.random.randint(2, 3))
            case "array":
                return {"type": "array", "items": self.type(depth - 1)}
            case "map":
                return {"type": "map", "values": self.type(depth - 1)}
            case "enum":
                enum = {
                    "type": "enum",
                    "name": self.name("E"),
                    "symbols": ["A", "B", "C"][: self.random.randint(1, 3)],
                }
                return {**enum, "default": "A"} if self.random.random() < 0.3 else enum
            case "fixed":
                return {"type": "fixed", "name": self.name("F"), "size": self.random.choice((4, 8))}
            case _:
                return self.record(depth - 1)


def _within(schema):
    """Yield a schema's parts that can be edited, as they are."""
    yield schema
    if isinstance(schema, dict):
        for field in schema.get("fields", ()):
            yield from _within(field["type"])
        for word in ("items", "values"):
            if word in schema:
                yield from _within(schema[word])


def _edit_avro(random, schema):
    records = [part for part in _within(schema) if isinstance(part, dict) and part["type"] == "record"]
    enums = [part for part in _within(schema) if isinstance(part, dict) and part["type"] == "enum"]
    fixed = [part for part in _within(schema) if isinstance(part, dict) and part["type"] == "fixed"]
    fields = random.choice(records)["fields"]
    number = max((int(field["name"][1:]) for field in fields), default=0) + random.randint(1, 50)
    what = random.choice(
        (
            "add",
            "add default",
            "remove",
            "type",
            "type",
            "rename",
            "alias",
            "default",
            "reorder",
            "nullable",
            "symbol",
            "size",
            "name",
        )
    )
    field = random.choice(fields) if fields else None
    match what:
        case "add":
            fields.append({"name": f"f{number}", "type": random.choice(PRIMITIVES)})
        case "add default":
            fields.append({"name": f"f{number}", "type": ["null", "long"], "default": None})
        case "symbol" if enums:
            enum = random.choice(enums)
            enum["symbols"] = random.choice((["A"], ["A", "B"], ["A", "B", "C", "D"], ["A", "X"]))
        case "size" if fixed:
            random.choice(fixed)["size"] = 16
        case "name":
            random.choice([*records, *enums, *fixed])["name"] += "Renamed"
        case "remove" if len(fields) > 1:
            fields.remove(field)
        case "reorder":
            random.shuffle(fields)
        case _ if field is None:
            pass
        case "type":
            wider = {"int": "long", "long": "double", "float": "double", "string": "bytes", "bytes": "string"}
            field["type"] = wider.get(str(field["type"]), random.choice(PRIMITIVES))
            field.pop("default", None)
        case "rename":
            field["name"] = f"f{number}"
        case "alias":
            field["aliases"] = [field["name"]]
            field["name"] = f"f{number}"
        case "default":
            field.pop("default", None)
        case "nullable" if isinstance(field["type"], str):
            field["type"] = ["null", field["type"]]
            field["default"] = None
        case "nullable" if isinstance(field["type"], list):
            field["type"] = field["type"][-1]
            field.pop("default", None)


def json_pair(seed):
    random = Random(f"json {seed}")
    old = _json_object(random, 2)
    new = copy.deepcopy(old)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        _edit_json(random, new)
    return json.dumps(old), json.dumps(new)


def _json_object(random, depth):
    names = random.sample("abcdef", random.randint(1, 4))
    schema = {"type": "object", "properties": {name: _json_type(random, depth) for name in names}}
    if random.random() < 0.5:
        schema["required"] = random.sample(names, random.randint(1, len(names)))
    closed = random.choice((None, None, False, False, True, {"type": "string"}))
    return schema if closed is None else {**schema, "additionalProperties": closed}


def _json_type(random, depth):
    kind = random.choice(
        ("string", "string", "integer", "number", "boolean", "enum", "nullable", "array", "object")
    )
    match kind:
        case "string":
            return {"type": "string", **_some(random, minLength=3, maxLength=20, pattern="^a")}
        case "integer" | "number":
            return {"type": kind, **_some(random, minimum=1, maximum=100, multipleOf=2)}
        case "enum":
            return {"enum": ["a", "b", "c"][: random.randint(1, 3)]}
        case "nullable":
            return {"oneOf": [{"type": "null"}, {"type": "string"}]}
        case "array" if depth:
            return {
                "type": "array",
                "items": _json_type(random, depth - 1),
                **_some(random, minItems=1, maxItems=9, uniqueItems=True),
            }
        case "object" if depth:
            return _json_object(random, depth - 1)
        case _:
            return {"type": "boolean"}


def _some(random, **words):
    return {word: value for word, value in words.items() if random.random() < 0.3}


def _schemas(schema):
    yield schema
    for property_ in schema.get("properties", {}).values():
        yield from _schemas(property_)
    if "items" in schema:
        yield from _schemas(schema["items"])


_LIMITS = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def _edit_json(random, schema):
    every = list(_schemas(schema))
    objects = [part for part in every if "properties" in part]
    enums = [part for part in every if "enum" in part]
    limited = [part for part in every if part.get("type") in _LIMITS]
    target = random.choice(objects)
    properties = target["properties"]
    name = random.choice(sorted(properties)) if properties else None
    what = random.choice(
        (
            "add",
            "add",
            "remove",
            "type",
            "limit",
            "limit",
            "limit",
            "required",
            "open",
            "enum",
            "choice",
            "multiple",
        )
    )
    match what:
        case "add":
            properties[random.choice("uvwxyz")] = _json_type(random, 0)
        case "limit":
            limits = random.choice(limited)
            word = random.choice(_LIMITS[limits["type"]])
            if word in limits and random.random() < 0.3:
                del limits[word]
            else:
                limits[word] = limits.get(word, 5) + random.choice((-1, 1, 2))
        case "enum" if enums:
            random.choice(enums)["enum"] = random.choice(
                (["a"], ["a", "b"], ["a", "b", "c", "d"], ["a", "x"])
            )
        case "open":
            target["additionalProperties"] = random.choice((True, False, {"type": "string"}))
        case _ if name is None:
            pass
        case "remove":
            del properties[name]
            if "required" in target:
                target["required"] = [field for field in target["required"] if field != name]
        case "type":
            kind = properties[name].get("type")
            properties[name] = {"type": {"integer": "number", "number": "integer"}.get(kind, "string")}
        case "required":
            target["required"] = sorted({*target.get("required", [])} ^ {name})
        case "choice" if "oneOf" in properties[name]:
            properties[name]["oneOf"].append({"type": "integer"})
        case "multiple" if properties[name].get("type") in {"integer", "number"}:
            properties[name]["multipleOf"] = random.choice((1, 2, 3, 4))


def protobuf_pair(seed):
    random = Random(f"protobuf {seed}")
    old = _proto_file(random)
    new = copy.deepcopy(old)
    for _ in range(random.choice((1, 1, 1, 2))):
        _edit_proto(random, new)
    return proto_text(old), proto_text(new)


def _proto_file(random):
    messages = {"Order": _proto_message(random), "Line": _proto_message(random)}
    messages["Order"]["fields"][20] = {
        "name": "line",
        "type": "Line",
        "label": random.choice(("", "repeated ")),
        "group": "",
    }
    messages["Order"]["fields"][21] = {"name": "colour", "type": "Colour", "label": "", "group": ""}
    return {"package": "shop", "messages": messages, "enum": {0: "NONE", 1: "RED", 2: "BLUE"}}


def _proto_message(random):
    fields = {}
    for number in range(1, random.randint(2, 5)):
        kind = random.choice((*SCALARS, "map<string, int64>"))
        label = "" if kind.startswith("map") else random.choice(("", "", "optional ", "repeated "))
        fields[number] = {"name": f"f{number}", "type": kind, "label": label, "group": ""}
    if random.random() < 0.4:
        for number in (11, 12):
            fields[number] = {
                "name": f"f{number}",
                "type": random.choice(SCALARS),
                "label": "",
                "group": "choice",
            }
    return {"fields": fields, "reserved": []}


def _edit_proto(random, file):
    message = random.choice(list(file["messages"].values()))
    fields = message["fields"]
    plain = [number for number, field in fields.items() if not field["group"] and number < 11]
    number = random.choice(plain) if plain else None
    what = random.choice(
        (
            "add",
            "add",
            "add message",
            "add symbol",
            "kind",
            "kind",
            "map",
            "message",
            "remove message",
            "group",
            "scalar",
            "remove",
            "reserve",
            "rename",
            "label",
        )
    )
    new = random.randint(30, 60)
    match what:
        case "add":
            fields[new] = {
                "name": f"f{new}",
                "type": random.choice(SCALARS),
                "label": random.choice(("", "repeated ")),
                "group": "",
            }
        case "add message":
            file["messages"][f"Added{new}"] = _proto_message(random)
        case "add symbol":
            file["enum"][new] = f"SYMBOL{new}"
        case "remove message" if "Line" in file["messages"]:
            del file["messages"]["Line"]
            del file["messages"]["Order"]["fields"][20]
        case "group" if any(field["group"] for field in fields.values()):
            fields[new] = {"name": f"f{new}", "type": "string", "label": "", "group": "choice"}
        case _ if number is None:
            pass
        case "kind":
            fields[number]["type"] = random.choice(("string", "double", "sint64", "fixed32"))
            fields[number]["label"] = ""
        case "map":
            fields[number] |= {"type": "map<string, string>", "label": ""}
        case "message":
            fields[number]["type"] = "Order"
        case "scalar":
            wider = {"int32": "int64", "int64": "int32", "string": "bytes", "bytes": "string"}
            fields[number]["type"] = wider.get(fields[number]["type"], fields[number]["type"])
        case "remove":
            del fields[number]
        case "reserve":
            message["reserved"] += [str(number), f'"{fields[number]["name"]}"']
            del fields[number]
        case "rename":
            fields[number]["name"] += "_renamed"
        case "label" if not fields[number]["type"].startswith("map"):
            fields[number]["label"] = random.choice(("", "optional ", "repeated "))


def proto_text(file):
    lines = ['syntax = "proto3";', f"package {file['package']};"]
    for name, message in file["messages"].items():
        lines.append(f"message {name} {{")
        lines += [f"  reserved {reserved};" for reserved in message["reserved"]]
        grouped = [_proto_field(*field) for field in message["fields"].items() if field[1]["group"]]
        lines += [_proto_field(*field) for field in message["fields"].items() if not field[1]["group"]]
        lines += ["  oneof choice {", *grouped, "  }"] if grouped else []
        lines.append("}")
    symbols = [f"  {name} = {number};" for number, name in file["enum"].items()]
    return "\n".join([*lines, "enum Colour {", *symbols, "}", ""])


def _proto_field(number, field):
    return f"  {field['label']}{field['type']} {field['name']} = {number};"
