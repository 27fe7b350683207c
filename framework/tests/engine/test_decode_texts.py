"""The strict decoders of CSV and XML, on Spark."""

import csv
import io
import re
from datetime import date, datetime, timezone
from decimal import Decimal
from xml.sax.saxutils import escape

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.bad_columns import plain

from millstream.core.types import Field, parse_type
from millstream.formats.registry import Encoding, format_of
from millstream.formats.values import UnfitError

FIELDS = "a int, s string, d decimal(4,2), t timestamp, x double, day date, f boolean"


def decoded(spark, call, values):
    """Decode all values in one query: a row of those that are not NULL, by value."""
    rows = spark.createDataFrame([(value,) for value in values], "value binary")
    decoded_rows = rows.selectExpr("value", f"inline(array({call}))").collect()
    return {
        bytes(row.value): {
            name: value
            for name, value in plain(row.asDict(recursive=True)).items()
            if name != "value" and value is not None
        }
        for row in decoded_rows
    }


CSV = {
    b"1,x,1.25,2026-01-01T10:00:00+02:00,1e3,2026-01-02,true": {
        "a": 1, "s": "x", "d": Decimal("1.25"), "t": datetime(2026, 1, 1, 8, tzinfo=timezone.utc), "x": 1000.0,
        "day": date(2026, 1, 2), "f": True,
    },
    b",,,,,,": {},
    b',"",,,,,\n': {"s": ""},
    b'-1," a,""b\\"\nc ",.5,,-Inf,,FALSE\r\n': {"a": -1, "s": ' a,"b"\nc ', "d": Decimal("0.5"), "x": float("-inf"), "f": False},
    ',"é𝄞",,,,,'.encode(): {"s": "é𝄞"},
    b"": "the value is empty",
    b",,,,,": "the line has 6 fields instead of 7",
    b",,,,,,,": "the line has 8 fields instead of 7",
    b",,,,,,\n,,,,,,": "there is more after the line",
    b',"x": "y",,,,,': "field 2 of the line: there is more after the closing quote",
    b',"x,,,,,': "field 2 of the line: the closing quote is missing",
    b",\xff,,,,,": "the value is not valid UTF-8",
    b"1.0,,,,,,": "field a: '1.0' is not an int",
    b"3000000000,,,,,,": "field a: '3000000000' is not an int",
    b" 1,,,,,,": "field a: ' 1' is not an int",
    b",,1.255,,,,": "field d: '1.255' is not a decimal(4,2)",
    b",,,12:30,,,": "field t: '12:30' is not a timestamp",
    b",,,,1e400,,": "field x: '1e400' is not a double",
    b",,,,0x1p3,,": "field x: '0x1p3' is not a double",
    b",,,,,20260101,": "field day: '20260101' is not a date",
    b",,,,,2026-1-2,": "field day: '2026-1-2' is not a date",
    b",,,,,2026,": "field day: '2026' is not a date",
    b",,,,,2026-01-02T00:00:00,": "field day: '2026-01-02T00:00:00' is not a date",
    b",,,,,2026-01-02 or so,": "field day: '2026-01-02 or so' is not a date",
    b",,,2026-01,,,": "field t: '2026-01' is not a timestamp",
    b",,,,,,yes": "field f: 'yes' is not true or false",
}  # fmt: skip


def check(rows, expected):
    for value, expected_row in expected.items():
        if isinstance(expected_row, str):
            assert rows[value].keys() == {"_bad"}, value
            assert rows[value]["_bad"].startswith(expected_row), value
        else:
            assert rows[value] == expected_row, value


def locally(encoding, ddl, expected):
    """Check that Python's codec accepts and refuses the same values, for the same reasons."""
    pairs = [
        declaration.split(" ", 1)
        for declaration in re.split(
            r", (?=\w+ )", ddl.replace("k: string, _V", "k: string,_V").replace(", _u:", ",_u:")
        )
    ]
    fields = tuple(
        Field(name, parse_type(type_.removesuffix(" not null")), not type_.endswith(" not null"))
        for name, type_ in pairs
    )
    for value, expected_row in expected.items():
        if b"latin-1" in value:
            continue  # a name that Python knows, and Java doesn't
        try:
            format_of(encoding).local.decode(value, fields)
            reason = None
        except UnfitError as error:
            reason = str(error)
        if isinstance(expected_row, str):
            assert reason is not None, value
            assert reason.startswith(expected_row), value
        else:
            assert reason is None, value


def utc(row):
    return {k: v.replace(tzinfo=timezone.utc) if isinstance(v, datetime) else v for k, v in row.items()}


def test_csv(spark):
    rows = decoded(spark, f"decode_csv(value, '{FIELDS}', ',', '\"', '\\\\', 'false')", CSV)
    check({value: utc(row) for value, row in rows.items()}, CSV)
    locally(Encoding("csv"), FIELDS, CSV)


def test_csv_with_the_names_in_the_first_line(spark):
    expected = {
        b"s;b;a\nx;;1\n": {"a": 1, "s": "x"},
        b"a\n1": {"a": 1},
        b"\xef\xbb\xbfa;s\n1;\xef\xbb\xbf": {"a": 1, "s": "\ufeff"},
        b"\xef\xbb\xbf": "the value is empty",
        b"a;s": "there is no line after that of the names",
        b"a;a\n1;2": "two fields are named 'a'",
        b"a;s\n1": "the line has 1 field instead of 2",
        b"s\nx": "field a: the value is missing",
    }
    check(
        decoded(spark, "decode_csv(value, 'a int not null, s string', ';', '\\'', '\\\\', 'true')", expected),
        expected,
    )
    options = (("delimiter", ";"), ("header", "true"), ("quote", "'"))
    locally(Encoding("csv", options=options), "a int not null, s string", expected)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=100, max_size=200))
def test_csv_is_read_as_pythons_module_writes_it(spark, rows):
    def line(row):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(row)
        return out.getvalue().encode()

    lines = {line(row): row for row in rows}
    # Without an escape character: Python doubles quotes.
    decoded_rows = decoded(
        spark, "decode_csv(value, 'a string, b string, c string', ',', '\"', '\"', 'false')", lines
    )
    assert {value: (row.get("a"), row.get("b"), row.get("c")) for value, row in decoded_rows.items()} == lines


XML_FIELDS = (
    "a int, s string, _id bigint, list array<int>, n struct<k: string, _VALUE: double, _u: string>, "
    "m map<string, int>, day date"
)
XML = {
    b"<r _='x' id='7'><a> 1 </a><s> x </s></r>": {"a": 1, "s": " x ", "_id": 7},
    b"<?xml version='1.0' encoding='UTF-8'?><p:r xmlns:p='u:p'><p:a>1</p:a><!-- c --><b><a>2</a></b></p:r>": {"a": 1},
    b"<r><list>1</list><list/><list>3</list></r>": {"list": [1, None, 3]},
    b"<r><s/><a/></r>": {"s": ""},
    b"<r xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><s xsi:nil='true'/></r>": {},
    b"<r><s>a<![CDATA[<b>]]>&amp;&#233;</s></r>": {"s": "a<b>&\u00e9"},
    b"<r><n u='kg'> 1.5 <k>x</k></n><m><q>1</q><r>2</r></m></r>": {
        "n": {"k": "x", "_VALUE": 1.5, "_u": "kg"}, "m": {"q": 1, "r": 2},
    },
    b"": "the value is empty",
    b"x": "not XML",
    b"<r>": "not XML",
    b"<r/><r/>": "not XML",
    b"<r/>x": "not XML",
    b"<!DOCTYPE r [<!ENTITY e 'x'>]><r><s>&e;</s></r>": "document types are not allowed",
    b"<r><s>\xff</s></r>": "the value is not valid UTF-8",
    b"<r><s>\xc1\x81</s></r>": "the value is not valid UTF-8",
    "<?xml version='1.0' encoding='latin-1'?><r><s>\xe9</s></r>".encode("latin-1"): "the encoding 'latin-1' is not known",
    "<?xml version='1.0' encoding='ISO-8859-1'?><r><s>\xe9</s></r>".encode("latin-1"): {"s": "\xe9"},
    "<?xml version='1.0' encoding='UTF-16'?><r><s>\xe9𝄞</s></r>".encode("utf-16"): {"s": "\xe9𝄞"},
    b"\xef\xbb\xbf<r><s>x</s></r>": {"s": "x"},
    b"\xfe\xff\xd8\x00": "the value is not valid UTF-16BE",
    b"<r><a>1.5</a></r>": "field a: '1.5' is not an int",
    b"<r><a><b>1</b></a></r>": "field a: an element with elements is not an int",
    b"<r><a>1<!-- c -->2<?p?></a><s>x<b>y</b></s></r>": {"a": 12, "s": "xy"},
    b"<r><a>1</a><a>2</a></r>": "field a: there are several elements",
    b"<r><n>x</n></r>": "field n._VALUE: 'x' is not a double",
    b"<r><day>20260101</day></r>": "field day: '20260101' is not a date",
    b"<r id='x'/>": "field _id: 'x' is not a bigint",
}  # fmt: skip


def test_xml(spark):
    check(
        {
            value: {
                k: {a: b for a, b in v.items() if b is not None} if isinstance(v, dict) else v
                for k, v in row.items()
            }
            for value, row in decoded(spark, f"decode_xml(value, '{XML_FIELDS}', '', '', '')", XML).items()
        },
        XML,
    )
    locally(Encoding("xml"), XML_FIELDS, XML)


def soap(body, prefix="soap"):
    return (
        f"<{prefix}:Envelope xmlns:{prefix}='http://schemas.xmlsoap.org/soap/envelope/'><{prefix}:Header><a>9</a></{prefix}:Header>"
        f"<{prefix}:Body>{body}</{prefix}:Body></{prefix}:Envelope>"
    ).encode()


def test_soap(spark):
    expected = {
        soap("<order xmlns='u:o'><a>1</a></order>"): {"a": 1},
        soap("<o:order xmlns:o='u:o'><o:a>1</o:a></o:order>", "e"): {"a": 1},
        soap("<order><a>1</a></order>"): "the element 'order' is not in the namespace u:o",
        soap("<x/><order xmlns='u:o'><a>1</a></order><y><order/></y>"): {"a": 1},
        soap(
            "<order xmlns='u:o'><a>1</a></order><order xmlns='u:o'><a>2</a></order>"
        ): "there are several elements 'order'",
        soap("<order xmlns='u:o'><a>1</a></order><soap:Fault>late</soap:Fault>"): "a fault: 'late'",
        soap("<other/>"): "there is no element 'order'",
        soap("<soap:Fault><faultstring>no stock</faultstring></soap:Fault>"): "a fault: 'no stock'",
        b"<order xmlns='u:o'><a>1</a></order>": "'order' is not the element 'Envelope'",
    }
    check(decoded(spark, "decode_xml(value, 'a int', 'Envelope/Body', 'order', 'u:o')", expected), expected)
    options = (("envelope", "Envelope/Body"), ("row_tag", "order"), ("namespace", "u:o"))
    locally(Encoding("xml", options=options), "a int", expected)
    any_element = {
        soap("<x><a>1</a></x>"): {"a": 1},
        soap("<x/><y/>"): "there are several elements in the envelope",
        soap(""): "there is no element in the envelope",
    }
    check(decoded(spark, "decode_xml(value, 'a int', 'Envelope/Body', '', '')", any_element), any_element)
    locally(Encoding("xml", options=options[:1]), "a int", any_element)


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn"), exclude_characters="\ufffe\uffff"), max_size=12), min_size=100, max_size=200))  # fmt: skip
def test_xml_is_read_as_pythons_module_writes_it(spark, texts):
    values = {f"<r><s>{escape(text)}</s></r>".encode(): {"s": text} for text in texts}
    assert decoded(spark, "decode_xml(value, 's string', '', '', '')", values) == values
