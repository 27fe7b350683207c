"""XML: an element for each record, with child elements as fields; names with a leading `_` are attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millstream.expressions import Piece, joined
from millstream.formats import Encoding
from millstream.formats.format import Decoded, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.sql import BAD, TIMES, column_list, parser_call, row
from millstream.formats.values import UnfitError, as_mapping, encoded, text_of, utf8, value_of
from millstream.types import STRING, Array, Row, Type

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_IMPOSSIBLE = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Compiled on first use, since that takes longer than importing all formats."""
_NAME = re.compile(r"[A-Za-z_][\w.\-]*\Z")
_IN_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_TEXT = str.maketrans(_IN_TEXT)
_ATTRIBUTE = str.maketrans({**_IN_TEXT, '"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def _decode_sql(fields: Fields) -> Decoded:
    if not fields:
        return Decoded()
    rows = parser_call(
        "from_xml", fields, f"map('columnNameOfCorruptRecord', '{BAD}', 'ignoreSurroundingSpaces', 'false')"
    )
    return Decoded(rows=rows, why=f"not an XML element with {column_list(fields)}")


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    return joined(("to_xml(", *row(items), f", map('rowTag', 'row', {TIMES}))"))


def _encode(value: Any, fields: Fields) -> bytes:  # noqa: ARG001 - additional fields are harmless
    if isinstance(value, str):
        return encoded(value)
    value = as_mapping(value)
    if not isinstance(value, Mapping):
        raise UnfitError(f"expected a mapping of columns, not {type(value).__name__}")
    return encoded(_element("row", value))


def _element(name: str, value: Any) -> str:
    if not _NAME.match(name):
        raise UnfitError(f"'{name}' is not a valid element name")
    match value:
        case None:
            return ""
        case Mapping():
            fields_by_name = {str(key): each for key, each in value.items()}
            attributes = "".join(
                f' {key[1:]}="{_text(each).translate(_ATTRIBUTE)}"'
                for key, each in fields_by_name.items()
                if key.startswith("_") and each is not None
            )
            inner = "".join(
                _element(key, each) for key, each in fields_by_name.items() if not key.startswith("_")
            )
            return f"<{name}{attributes}>{inner}</{name}>"
        case list() | tuple():
            return "".join(_element(name, each) for each in value)
        case _:
            return f"<{name}>{_text(value).translate(_TEXT)}</{name}>"


def _text(value: Any) -> str:
    text = text_of(value)
    if found := re.search(_IMPOSSIBLE, text):
        raise UnfitError(f"the character U+{ord(found[0]):04X} is not allowed in XML")
    return text


def _decode(value: bytes, fields: Fields) -> Any:
    from xml.etree.ElementTree import ParseError, fromstring

    text = utf8(value)
    if "<!DOCTYPE" in text:
        raise UnfitError("not an XML element: document types are not allowed")
    try:
        found = fromstring(text)  # noqa: S314 - entities need a document type, which is refused
    except ParseError as error:
        raise UnfitError(f"not an XML element: {error}") from None
    return _row(found, {field.name: field.type for field in fields})


def _row(element: Element, types: Mapping[str, Type]) -> dict[str, Any]:
    found: dict[str, Any] = {
        f"_{name}": value_of(text, types.get(f"_{name}", STRING)) for name, text in element.attrib.items()
    }
    for child in element:
        type_ = types.get(child.tag, STRING)
        if isinstance(type_, Array):
            found.setdefault(child.tag, []).append(_value(child, type_.element))
        else:
            found[child.tag] = _value(child, type_)
    return found


def _value(element: Element, type_: Type) -> Any:
    if isinstance(type_, Row):
        return _row(element, {field.name: field.type for field in type_.fields})
    if len(element):
        return _row(element, {})
    return value_of(element.text or "", type_)


_FORMAT = Format(
    media_type="application/xml",
    spark=SparkCodec(_decode_sql, _encode_sql),
    local=LocalCodec(_decode, _encode),
)


def format_of(encoding: Encoding) -> Format:  # noqa: ARG001 - has no variants
    return _FORMAT
