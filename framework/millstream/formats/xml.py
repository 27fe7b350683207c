"""XML: an element for each record, with child elements as fields; names with a leading `_` are attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import INTERVAL, NULL, STRING, UNKNOWN, VARIANT, Array, Row, Type, types_within
from millstream.formats.format import DecodedSql, Fields, Format, FormatOption, Item, LocalCodec, SparkCodec
from millstream.formats.reasons import not_a, quote_value
from millstream.formats.registry import Encoding
from millstream.formats.sql import BAD, TIMES, column_list, function_call, parser_call, struct_sql
from millstream.formats.values import UnfitError, as_mapping, encode_utf8, text_of, value_of
from millstream.formats.xml_values import all_texts, check_element, is_nil, local_name, text_of_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_IMPOSSIBLE = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Compiled on first use, since that takes longer than importing all formats."""
_TAG = r"[A-Za-z_][\w.\-]*"
_NAME = re.compile(rf"{_TAG}\Z")
_IN_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_TEXT = str.maketrans(_IN_TEXT)
_ATTRIBUTE = str.maketrans({**_IN_TEXT, '"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


_OPTIONS = {
    "row_tag": FormatOption(
        "",
        "the name of a record's element; by default any when reading, and `row` when writing",
        _TAG,
        "order",
    ),
    "namespace": FormatOption(
        "",
        "the namespace of a record's element; by default any, and none",
        r"[^\s<>\"']+",
        "http://shop.example/orders",
    ),
    "envelope": FormatOption(
        "", "the elements around it, such as Envelope/Body of SOAP", rf"{_TAG}(/{_TAG})*", "Envelope/Body"
    ),
    "envelope_namespace": FormatOption(
        "",
        "the namespace of the envelope in records that are written",
        r"[^\s<>\"']+",
        "http://schemas.xmlsoap.org/soap/envelope/",
    ),
}


class _Layout(Struct, frozen=True):
    """Where in a value a record's element is."""

    row_tag: str
    namespace: str
    envelope: str
    envelope_namespace: str

    @property
    def tag(self) -> str:
        return self.row_tag or "row"

    @property
    def start(self) -> str:
        """What precedes the name of a record's element."""
        first, *others = self.envelope.split("/")
        outer = f"<{first}{_xmlns(self.envelope_namespace)}>" if first else ""
        return f"{outer}{''.join(f'<{name}>' for name in others)}<"

    @property
    def attribute(self) -> str:
        """What follows the name of a record's element: none of its namespaces is that of the envelope."""
        if self.envelope_namespace and not self.namespace:
            return ' xmlns=""'
        return _xmlns(self.namespace)

    @property
    def end(self) -> str:
        return "".join(f"</{name}>" for name in reversed(self.envelope.split("/")) if name)


def _xmlns(namespace: str) -> str:
    return f' xmlns="{namespace.translate(_ATTRIBUTE)}"' if namespace else ""


def _decode_strict(layout: _Layout, fields: Fields) -> DecodedSql:
    if not fields:
        return DecodedSql()
    return function_call("decode_xml", fields, settings=(layout.envelope, layout.row_tag, layout.namespace))


def _decode_lenient(_layout: _Layout, fields: Fields) -> DecodedSql:
    if not fields:
        return DecodedSql()
    rows = parser_call(
        "from_xml", fields, f"map('columnNameOfCorruptRecord', '{BAD}', 'ignoreSurroundingSpaces', 'false')"
    )
    return DecodedSql(rows=rows, why=(sql_literal(f"not an XML element with {column_list(fields)}"),))


def _encode_sql(layout: _Layout, items: Sequence[Item]) -> tuple[Piece, ...]:
    tag = sql_literal(layout.tag)
    element: tuple[Piece, ...] = ("to_xml(", *struct_sql(items), f", map('rowTag', {tag}, {TIMES}))")
    if layout == _PLAIN or not (layout.envelope or layout.attribute):
        return join_pieces(element)
    start, end = sql_literal(f"{layout.start}{layout.tag}{layout.attribute}"), sql_literal(layout.end)
    return join_pieces((f"concat({start}, substring(", *element, f", {len(layout.tag) + 2}), {end})"))


def _encode(layout: _Layout, value: Any, fields: Fields) -> bytes:  # noqa: ARG001 - additional fields are harmless
    if isinstance(value, str):
        return encode_utf8(value)
    value = as_mapping(value)
    if not isinstance(value, Mapping):
        raise UnfitError(f"expected a mapping of columns, not {type(value).__name__}")
    element = _element(layout.tag, value)[len(layout.tag) + 1 :]
    return encode_utf8(f"{layout.start}{layout.tag}{layout.attribute}{element}{layout.end}")


def _element(name: str, value: Any) -> str:
    if not _NAME.match(name):
        raise UnfitError(f"'{name}' is not a valid element name")
    match value:
        case None:
            return ""
        case Mapping():
            fields_by_name = {str(key): field_value for key, field_value in value.items()}
            attributes = "".join(
                f' {key[1:]}="{_text(field_value).translate(_ATTRIBUTE)}"'
                for key, field_value in fields_by_name.items()
                if key.startswith("_") and field_value is not None
            )
            inner = "".join(
                _element(key, field_value)
                for key, field_value in fields_by_name.items()
                if not key.startswith("_")
            )
            return f"<{name}{attributes}>{inner}</{name}>"
        case list() | tuple():
            return "".join(_element(name, repeated) for repeated in value)
        case _:
            return f"<{name}>{_text(value).translate(_TEXT)}</{name}>"


def _text(value: Any) -> str:
    text = text_of(value)
    if match := re.search(_IMPOSSIBLE, text):
        raise UnfitError(f"the character U+{ord(match[0]):04X} is not allowed in XML")
    return text


def _decode(layout: _Layout, strict: bool, value: bytes, fields: Fields) -> Any:
    from xml.etree.ElementTree import ParseError, fromstring

    text = text_of_xml(value)
    if not text.strip():
        raise UnfitError("the value is empty")
    if "<!DOCTYPE" in text:
        raise UnfitError("document types are not allowed")
    try:
        root = fromstring(text)  # noqa: S314 - entities need a document type, which is refused
    except ParseError as error:
        raise UnfitError(f"not XML: {error}") from None
    try:
        element = _within(root, layout)
        if strict and all(_is_known(field.type) for field in fields):
            check_element(element, fields)
        return _row(element, {field.name: field.type for field in fields})
    except RecursionError:
        raise UnfitError("its elements are nested too deeply") from None


def _within(root: Element, layout: _Layout) -> Element:
    """Return a record's element."""
    path = [name for name in layout.envelope.split("/") if name] + [layout.row_tag]
    if path[0] and path[0] != _local(root):
        raise not_a(_local(root), f"the element {quote_value(path[0])}")
    element, after = root, []
    for name in path[1:]:
        children = list(element)
        for index, child in enumerate(children):
            if _local(child) == "Fault":
                raise UnfitError(f"a fault: {quote_value(all_texts(child).strip())}")
            if name in {"", _local(child)}:
                element, after = child, children[index + 1 :]
                break
        else:
            described = f"element {quote_value(name)}" if name else "element in the envelope"
            raise UnfitError(f"there is no {described}")
    if layout.namespace and not element.tag.startswith(f"{{{layout.namespace}}}"):
        raise UnfitError(
            f"the element {quote_value(_local(element))} is not in the namespace {layout.namespace}"
        )
    for other in after:
        if _local(other) == "Fault":
            raise UnfitError(f"a fault: {quote_value(all_texts(other).strip())}")
        if path[-1] in {"", _local(other)}:
            described = f"elements {quote_value(path[-1])}" if path[-1] else "elements in the envelope"
            raise UnfitError(f"there are several {described}")
    return element


def _is_known(type_: Type) -> bool:
    """Whether Spark's functions read a type from XML."""
    return {INTERVAL, VARIANT, NULL, UNKNOWN}.isdisjoint(types_within(type_))


def _local(element: Element) -> str:
    """Return an element's name without its namespace."""
    return local_name(element.tag)


def _row(element: Element, types: Mapping[str, Type]) -> dict[str, Any]:
    row: dict[str, Any] = {
        f"_{name}": value_of(text, types.get(f"_{name}", STRING))
        for name, text in element.attrib.items()
        if not name.startswith("{")
    }
    for child in element:
        name = _local(child)
        type_ = types.get(name)
        if isinstance(type_, Array):
            row.setdefault(name, []).append(_value(child, type_.element))
        else:
            row[name] = _value(child, type_)
    return row


def _value(element: Element, type_: Type | None) -> Any:
    """Return the value of an element; of one that is not a column, with all that is within it."""
    if isinstance(type_, Row):
        return _row(element, {field.name: field.type for field in type_.fields})
    if is_nil(element):
        return None
    if type_ is None and len(element):
        return _row(element, {})
    if type_ in {None, STRING}:
        return all_texts(element)
    assert type_ is not None
    word = (element.text or "").strip()
    return value_of(word, type_) if word else None


_PLAIN = _Layout("", "", "", "")


def format_of(encoding: Encoding) -> Format:
    options = {name: option.default for name, option in _OPTIONS.items()} | dict(encoding.options)
    layout = _Layout(**options)
    decode = _decode_strict if encoding.decoding == "strict" else _decode_lenient
    return Format(
        media_type="application/xml",
        spark=SparkCodec(partial(decode, layout), partial(_encode_sql, layout)),
        local=LocalCodec(partial(_decode, layout, encoding.decoding == "strict"), partial(_encode, layout)),
        unwritten=frozenset((INTERVAL,)),
        options=_OPTIONS,
    )
