"""Whether records of one Protobuf schema can be read by another, by the rules of Confluent's registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from millstream.formats.compatibility.protobuf_types import (
    FieldType,
    ProtobufField,
    ProtobufMessage,
    ProtoFile,
    read_file,
)
from millstream.formats.compatibility.values import (
    ComparedSides,
    SchemaDifference,
    join_path,
    make_difference,
)
from millstream.formats.format import SchemaFiles


def compare_protobuf(
    writer: SchemaFiles, reader: SchemaFiles, sides: ComparedSides
) -> list[SchemaDifference]:
    one, other = read_file(writer), read_file(reader)
    return list(dict.fromkeys(_Comparison(one, other, sides).files()))


class _Comparison(Struct, frozen=True):
    writer: ProtoFile
    reader: ProtoFile
    sides: ComparedSides

    def files(self) -> Iterator[SchemaDifference]:
        if self.writer.package != self.reader.package:
            one, other = self.writer.package or "none", self.reader.package or "none"
            yield make_difference(self.sides, "", "package_changed", "its package", other, one)
        yield from self.declared(self.writer.messages, self.reader.messages, "", ())
        yield from self.enums(self.writer.enums, self.reader.enums, "")

    def declared(
        self,
        before: dict[str, ProtobufMessage],
        after: dict[str, ProtobufMessage],
        path: str,
        above: tuple[str, ...],
    ) -> Iterator[SchemaDifference]:
        for name in {**before, **after}:
            message_path = join_path(path, name)
            if name not in after:
                what = f"the {self.sides.reader} schema lacks the message {name}"
                yield SchemaDifference(message_path, "message_removed", what)
            elif name not in before:
                what = f"the {self.sides.writer} schema lacks the message {name}"
                yield SchemaDifference(message_path, "message_added", what, breaks=False)
            else:
                yield from self.messages(before[name], after[name], message_path, above)

    def messages(
        self, before: ProtobufMessage, after: ProtobufMessage, path: str, above: tuple[str, ...]
    ) -> Iterator[SchemaDifference]:
        if before.name in above:
            return
        above = (*above, before.name)
        yield from self.groups(before, after, path)
        gone = _groups_without_survivors(before, after)
        for number in sorted({*before.fields, *after.fields}):
            was, now = before.fields.get(number), after.fields.get(number)
            if now is None:
                assert was is not None
                yield from self.removed(was, path, group_is_gone=was.group in gone)
            elif was is None:
                field_path = join_path(path, now.name)
                if now.label == "required" and not now.group:
                    what = f"only the {self.sides.reader} schema has it, and requires it"
                    yield SchemaDifference(field_path, "required_field_added", what)
                else:
                    what = f"the {self.sides.writer} schema lacks it"
                    yield SchemaDifference(field_path, "field_added", what, breaks=False)
            else:
                yield from self.fields(was, now, path, above)
        yield from self.declared(before.messages, after.messages, path, above)
        yield from self.enums(before.enums, after.enums, path)

    def groups(
        self, before: ProtobufMessage, after: ProtobufMessage, path: str
    ) -> Iterator[SchemaDifference]:
        """Fields that were independent, and now exclude each other."""
        for group in dict.fromkeys(field.group for field in after.fields.values() if field.group):
            members = [number for number, field in after.fields.items() if field.group == group]
            fields = [before.fields[number] for number in members if number in before.fields]
            if len({field.group or str(field.number) for field in fields}) > 1:
                several = sum(not field.group for field in fields) > 1
                rule = "multiple_fields_moved_to_oneof" if several else "field_moved_to_existing_oneof"
                names = ", ".join(field.name for field in fields)
                what = f"{names} exclude each other in the {self.sides.reader} schema, but not in the "
                yield SchemaDifference(join_path(path, group), rule, f"{what}{self.sides.writer} one")

    def removed(self, was: ProtobufField, path: str, *, group_is_gone: bool) -> Iterator[SchemaDifference]:
        what = f"the {self.sides.reader} schema lacks it"
        field_path = join_path(path, was.name)
        if was.group and not group_is_gone:
            yield SchemaDifference(field_path, "oneof_field_removed", f"{what}, but has others of its oneof")
        elif was.group:
            yield SchemaDifference(field_path, "oneof_removed", what, breaks=False)
        elif was.label == "required":
            yield SchemaDifference(field_path, "required_field_removed", f"{what}, and the other requires it")
        else:
            yield SchemaDifference(field_path, "field_removed", what, breaks=False)

    def fields(
        self, was: ProtobufField, now: ProtobufField, path: str, above: tuple[str, ...]
    ) -> Iterator[SchemaDifference]:
        field_path = join_path(path, now.name)
        if was.name != now.name:
            yield make_difference(
                self.sides, field_path, "field_name_changed", "its name", now.name, was.name, breaks=False
            )
        if was.group and not now.group:
            what = f"it is in a oneof in the {self.sides.writer} schema only"
            yield SchemaDifference(field_path, "oneof_field_moved_to_top_level", what, breaks=False)
        if (was.group, now.group) != ("", "") and was.group != now.group and now.group:
            what = f"it is in another oneof in the {self.sides.reader} schema"
            yield SchemaDifference(field_path, "oneof_changed", what, breaks=False)
        labels = (was.label, now.label)
        yield from self.types(was.type, now.type, labels, field_path, above)

    def types(
        self, was: FieldType, now: FieldType, labels: tuple[str, str], path: str, above: tuple[str, ...]
    ) -> Iterator[SchemaDifference]:
        if was.kind != now.kind:
            yield make_difference(self.sides, path, "field_kind_changed", "it", now.shown, was.shown)
        elif was.key and now.key and was.value and now.value:
            yield from self.types(was.key, now.key, ("", ""), f"{path}{{}}", above)
            yield from self.types(was.value, now.value, ("", ""), f"{path}{{}}", above)
        elif was.message and now.message:
            yield from self.message_types(was, now, path, above)
        elif was.encoding != now.encoding:
            yield make_difference(self.sides, path, "field_scalar_kind_changed", "it", now.shown, was.shown)
        else:
            yield from self.labels(was, now, labels, path)

    def labels(
        self, was: FieldType, now: FieldType, labels: tuple[str, str], path: str
    ) -> Iterator[SchemaDifference]:
        if all(labels) and labels[0] != labels[1]:
            text = was.encoding == "text"
            rule = "field_string_or_bytes_label_changed" if text else "field_numeric_label_changed"
            yield make_difference(self.sides, path, rule, "it", labels[1], labels[0], breaks=not text)
        elif labels[0] != labels[1]:
            one, other = (label or "without a label" for label in labels)
            yield make_difference(self.sides, path, "field_label_changed", "it", other, one, breaks=False)
        if was.shown != now.shown:
            yield make_difference(
                self.sides, path, "field_scalar_changed", "it", now.shown, was.shown, breaks=False
            )

    def message_types(
        self, was: FieldType, now: FieldType, path: str, above: tuple[str, ...]
    ) -> Iterator[SchemaDifference]:
        one, other = self.writer.types[was.message], self.reader.types[now.message]
        if one.local_name != other.local_name:
            yield make_difference(
                self.sides, path, "field_named_type_changed", "it", other.local_name, one.local_name
            )
        elif one.imported or other.imported:
            # Messages of the file itself are compared on their own.
            yield from self.messages(one, other, path, above)

    def enums(
        self, before: dict[str, dict[int, str]], after: dict[str, dict[int, str]], path: str
    ) -> Iterable[SchemaDifference]:
        for name in {**before, **after}:
            was, now = before.get(name), after.get(name)
            if was == now:
                continue
            if was is None or now is None:
                lacking = self.sides.reader if now is None else self.sides.writer
                rule = "enum_removed" if now is None else "enum_added"
                what = f"the {lacking} schema lacks the enum {name}"
                yield SchemaDifference(join_path(path, name), rule, what, breaks=False)
                continue
            for number in sorted({*was, *now}):
                rule = "enum_const_removed" if number not in now else "enum_const_changed"
                if number not in was:
                    rule = "enum_const_added"
                if was.get(number) != now.get(number):
                    shown, other = now.get(number, "missing"), was.get(number, "missing")
                    enum_path = f"{join_path(path, name)}"
                    yield make_difference(
                        self.sides, enum_path, rule, f"its symbol {number}", shown, other, breaks=False
                    )


def _groups_without_survivors(before: ProtobufMessage, after: ProtobufMessage) -> frozenset[str]:
    """Return the oneofs that were removed with all of their fields."""
    surviving = {field.group for field in after.fields.values()}
    surviving |= {field.group for number, field in before.fields.items() if number in after.fields}
    return frozenset(
        field.group for field in before.fields.values() if field.group and field.group not in surviving
    )
