"""Rows as people and programs read them."""

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from millstream.cli import result_tables, result_values
from millstream.cli.output import print_json

BERLIN = ZoneInfo("Europe/Berlin")
TIME = datetime(2024, 1, 1, 23, 30, tzinfo=timezone.utc)


def rendered_table(columns, rows, width=None):
    return "".join(text for text, _ in result_tables.format_table(columns, rows, width, BERLIN))


def test_a_table_with_numbers_to_the_right():
    assert rendered_table(
        ["name", "total", "none"], [("ann", 5, None), ("bernard", None, None), ("bo", 1234.5, None)]
    ) == (
        "name      total  none\n"
        "───────  ──────  ────\n"
        "ann           5  NULL\n"
        "bernard    NULL  NULL\n"
        "bo       1234.5  NULL"
    )


def test_no_rows():
    assert rendered_table(["a", "bc"], []) == "a  bc\n─  ──"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("NULL", "'NULL'"),
        ("", "''"),
        (" x", "' x'"),
        ("two\nlines\x1b[31m", "two␊lines␛[31m"),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        (Decimal("0E-16"), "0.0000000000000000"),
        (0.1, "0.1"),
        (float("nan"), "nan"),
        (b"\x00\xff", "\\x00ff"),
        (date(2024, 1, 1), "2024-01-01"),
        (TIME, "2024-01-02 00:30:00+01:00"),
        (TIME.replace(tzinfo=None), "2024-01-01 23:30:00"),
        (
            {"city": "Köln", "at": TIME, "n": None},
            '{"city": "Köln", "at": "2024-01-02T00:30:00+01:00", "n": null}',
        ),
        ([1, Decimal("1.50")], "[1, 1.50]"),
        (
            {"a": Decimal("0E-16"), "b": [{"c": Decimal("715.60")}]},
            '{"a": 0.0000000000000000, "b": [{"c": 715.60}]}',
        ),
        ({Decimal("1.50"): "\ud800"}, '{"1.50": "?"}'),
    ],
)
def test_values_for_people(value, text):
    assert rendered_table(["x"], [(value,)]).splitlines()[2] == text


def test_utc_is_short():
    assert result_values.as_text(TIME, timezone.utc) == "2024-01-01 23:30:00Z"


def test_the_widest_columns_are_cut_first():
    assert rendered_table(["id", "text"], [(1, "a long text indeed")], 14).splitlines() == [
        "id  text",
        "──  ──────────",
        " 1  a long te…",
    ]


def test_columns_that_do_not_fit_are_named():
    text = rendered_table([f"column_{n}" for n in range(4)], [("12345678",) * 4], 20)
    assert text.splitlines()[-1] == "… 2 more columns: column_2, column_3"


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(1, 80))
def test_widths_never_pass_the_terminal(needed, width):
    widths = result_tables.fit_widths(needed, width)
    assert all(cut <= full for cut, full in zip(widths, needed, strict=False))
    assert sum(widths) + 2 * (len(widths) - 1) <= max(width, 1)
    if sum(needed) + 2 * (len(needed) - 1) <= width:
        assert widths == needed


@given(st.lists(st.text(max_size=30), min_size=1, max_size=3), st.integers(20, 60))
def test_lines_fit_with_wide_characters(values, width):
    lines = rendered_table(["c"] * len(values), [values], width).split("\n")[:3]
    assert all(cell_len(line) <= width for line in lines)


def test_csv_tells_null_from_an_empty_text():
    rows = [("", None, 'say "hi", ok', TIME), ("two\nlines", 1, " x", None)]
    assert result_values.format_csv(["a", "b", "c", "d,e"], rows, timezone.utc) == (
        'a,b,c,"d,e"\n"",,"say ""hi"", ok",2024-01-01 23:30:00Z\n"two\nlines",1," x",'
    )


def test_records_keep_columns_of_one_name_apart():
    assert result_values.to_objects(["n", "n", "n_2"], [(1, 2, 3)], BERLIN) == [
        {"n": 1, "n_2": 2, "n_2_2": 3}
    ]


def test_decimals_are_numbers_with_all_digits_for_programs(capfd):
    digits = "12345678901234567890.12345678901234567890"
    value = Decimal(digits)
    (row,) = result_values.to_objects(
        ["d", "s", "l"], [(value, {"a": value, value: 1}, [Decimal("0E-16")])], BERLIN
    )
    print_json({"rows": [row]})
    shown = json.loads(capfd.readouterr().out, parse_float=str)["rows"][0]
    assert shown == {"d": digits, "s": {"a": digits, digits: 1}, "l": ["0.0000000000000000"]}
    print_json({"rows": [row], "given": "\udcff"})
    assert json.loads(capfd.readouterr().out)["rows"][0]["d"] == digits


@pytest.mark.parametrize(
    ("value", "json"),
    [
        (b"\x00\xff", "AP8="),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
        (TIME, "2024-01-02T00:30:00+01:00"),
        (date(2024, 1, 1), "2024-01-01"),
        ({1: [None, True]}, {"1": [None, True]}),
        (2**63, 2**63),
    ],
)
def test_values_for_programs(value, json):
    assert result_values.as_json(value, BERLIN) == json
