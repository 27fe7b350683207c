"""Writes the `.proto` file of a derived message type."""

from __future__ import annotations

from typing import Any

NUMBERS = {"double": 1, "float": 2, "int64": 3, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
"""The scalars, by the names that they have in a file: their numbers in descriptors."""
_WORDS = {number: name for name, number in NUMBERS.items()}


def proto_text(file: Any) -> str:
    """Return the text of a file with one message type, whose fields are all optional, repeated or maps."""
    lines = ['syntax = "proto3";', ""]
    lines += [f"package {file.package};", ""] if file.package else []
    lines += [f'import "{path}";' for path in file.dependency]
    lines += [""] if file.dependency else []
    lines += _message_text(file.message_type[0], "")
    return "\n".join(lines) + "\n"


def _message_text(message: Any, indent: str) -> list[str]:
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    lines = [f"{indent}message {message.name} {{"]
    for nested in message.nested_type:
        if not nested.options.map_entry:
            lines += [*_message_text(nested, f"{indent}  "), ""]
    for field in message.field:
        entry = entries.get(field.type_name.rpartition(".")[2])
        if entry is not None:
            type_ = f"map<{_type_text(entry.field[0])}, {_type_text(entry.field[1])}>"
        elif field.label == 3:
            type_ = f"repeated {_type_text(field)}"
        else:
            type_ = f"optional {_type_text(field)}"
        lines.append(f"{indent}  {type_} {field.name} = {field.number};")
    return [*lines, f"{indent}}}"]


def _type_text(field: Any) -> str:
    return field.type_name or _WORDS[field.type]
