"""Elements of XML as values of columns, read as strictly as Spark's functions read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from millstream.core.types import STRING, Array, Field, Map, Row, Type
from millstream.formats.format import Fields
from millstream.formats.reasons import add_context, quote_value, with_article
from millstream.formats.text_values import read_text
from millstream.formats.values import UnfitError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_DECLARED = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']")
_MARKS = {b"\xfe\xff": "UTF-16BE", b"\xff\xfe": "UTF-16LE"}
_UTF_8_MARK = b"\xef\xbb\xbf"
_START = 200
_VALUE = "_VALUE"


def text_of_xml(value: bytes) -> str:
    """Return the text of a value, in the encoding that it declares."""
    encoding = _MARKS.get(value[:2], "")
    content = value[2:] if encoding else value.removeprefix(_UTF_8_MARK)
    if not encoding:
        declared = _DECLARED.match(content[:_START])
        name = declared[1].decode() if declared else "utf-8"
        encoding = "utf-8" if name.upper().startswith("UTF-16") else name
    try:
        return content.decode(encoding)
    except LookupError:
        raise UnfitError(f"the encoding {quote_value(encoding)} is not known") from None
    except ValueError:
        raise UnfitError(f"the value is not valid {encoding.upper()}") from None


def local_name(name: str) -> str:
    """Return the name of an element or an attribute without its namespace."""
    return name.rpartition("}")[2]


def all_texts(element: Element) -> str:
    return "".join(element.itertext())


def check_element(element: Element, fields: Fields) -> None:
    """Raise UnfitError if columns can't hold exactly what an element says."""
    by_name = {field.name: field for field in fields}
    present = {name for name, text in _attributes(element) if _checked(name, text, by_name)}
    seen = set()
    for child in element:
        name = local_name(child.tag)
        if name not in by_name or name.startswith("_"):
            continue
        type_ = by_name[name].type
        if name in seen and not isinstance(type_, Array):
            raise add_context(name, UnfitError("there are several elements"))
        try:
            if _check_child(child, type_.element if isinstance(type_, Array) else type_):
                present.add(name)
        except UnfitError as error:
            raise add_context(name, error) from None
        seen.add(name)
        if isinstance(type_, Array):
            present.add(name)
    text = "".join([element.text or "", *(child.tail or "" for child in element)])
    if text.strip() and _checked(_VALUE, text.strip(), by_name):
        present.add(_VALUE)
    for field in fields:
        if not field.nullable and field.name not in present:
            raise add_context(field.name, UnfitError("the value is missing"))


def _attributes(element: Element) -> list[tuple[str, str]]:
    return [(f"_{local_name(name)}", text) for name, text in element.attrib.items()]


def _checked(name: str, text: str, by_name: dict[str, Field]) -> bool:
    """Check the text of an attribute, or of an element that has some; return whether a column has it."""
    field = by_name.get(name)
    if field is None:
        return False
    type_ = field.type.element if isinstance(field.type, Array) else field.type
    try:
        read_text(text if type_ == STRING else text.strip(), type_)
    except UnfitError as error:
        raise add_context(name, error) from None
    return True


def is_nil(element: Element) -> bool:
    return element.get(_NIL) in {"true", "1"}


def _check_child(element: Element, type_: Type) -> bool:
    """Check an element that is a value; return whether it is not NULL."""
    if is_nil(element):
        return False
    match type_:
        case Row(fields=fields):
            check_element(element, fields)
        case Map(value=held):
            seen = set()
            for child in element:
                name = local_name(child.tag)
                if name in seen:
                    raise add_context(name, UnfitError("there are several elements"))
                seen.add(name)
                _check_child(child, held)
        case _ if type_ == STRING:
            read_text(all_texts(element), type_)
        case _:
            if len(element):
                raise UnfitError(f"an element with elements is not {with_article(type_)}")
            word = (element.text or "").strip()
            if not word:
                return False
            read_text(word, type_)
    return True
