"""CSV files with types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.errors import Diagnostic
from millstream.core.text import FileText, Location
from millstream.core.types import parse_type
from millstream.project.files import File
from millstream.project.properties import SeedProperties
from millstream.project.seeds import read_seed
from millstream.project.values import DeclaredColumn, Seed

LOCATION = Location("seeds/s.yml", 3, 5, 9)


def read(content: str, delimiter: str = "", **types: str) -> tuple[Seed, list[Diagnostic]]:
    columns = tuple(DeclaredColumn(name, LOCATION, parse_type(type_)) for name, type_ in types.items())
    config = {"delimiter": delimiter} if delimiter else {}
    return read_seed(
        File("seeds/s.csv", content, "d"), SeedProperties("s", LOCATION, columns=columns, config=config)
    )


def codes_and_carets(content: str, **types: str) -> list[tuple[str, int, str]]:
    """Return codes with lines and what the carets stand under."""
    errors = read(content, **types)[1]
    return [
        (p.code, p.location.line, p.line[p.location.column - 1 : p.location.end - 1])
        for p in errors
        if p.location
    ]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["true", "FALSE"], "boolean"),
        (["1", "-20", "9223372036854775807"], "bigint"),
        (["9223372036854775808"], "string"),
        (["9007199254740993", "0.5"], "string"),
        (["1", "2.5"], "double"),
        (["1e3", "-.5"], "double"),
        (["1e999"], "string"),
        (["007", "1"], "string"),
        (["1_000"], "string"),
        (["\u0661"], "string"),
        (["2024-02-29"], "date"),
        (["2023-02-29"], "string"),
        (["20240131"], "bigint"),
        (["2024-W05-1"], "string"),
        (["2024-01-31", "2024-01-31 10:00"], "timestamp"),
        (["2024-01-31T10:00:00.123Z", "2024-01-31 10:00:00+02:00"], "timestamp"),
        (["2024-01-31 25:00:00"], "string"),
        (["1", "", "2"], "bigint"),
        (["nan"], "string"),
        (["-"], "string"),
        (["", ""], "string"),
        (["yes"], "string"),
    ],
)
def test_types_are_told_by_all_values(values: list[str], type_: str) -> None:
    seed, errors = read("a,b\n" + "".join(f"{value},x\n" for value in values))
    assert errors == []
    assert str(seed.columns[0].type) == type_
    assert seed.columns[0].nullable is ("" in values)


def test_quotes_blank_lines_and_a_missing_last_line_end() -> None:
    seed, errors = read('a,b\n"1,5","x ""y""\nz"\n\n2,3')
    assert errors == []
    assert (seed.rows, [str(c.type) for c in seed.columns]) == (2, ["string", "string"])


def test_a_header_without_rows() -> None:
    seed, errors = read("a,b\n")
    assert errors == []
    assert (seed.rows, [c.name for c in seed.columns]) == (0, ["a", "b"])


def test_columns_stand_in_the_header() -> None:
    seed, _ = read('id,"name"\n1,x\n')
    assert [(c.location.column, c.location.end) for c in seed.columns] == [(1, 3), (4, 10)]


@pytest.mark.parametrize("delimiter", [";", "|", "\t", r"\t"])
def test_another_delimiter(delimiter: str) -> None:
    character = "\t" if len(delimiter) == 2 else delimiter
    seed, errors = read(f"a{character}b\n1{character}2,3\n", delimiter)
    assert errors == []
    assert [str(c.type) for c in seed.columns] == ["bigint", "string"]


def test_a_delimiter_that_can_not_be() -> None:
    diagnostic = read("a,b\n", "::")[1][0]
    assert (diagnostic.code, diagnostic.location) == ("MS107", LOCATION)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", [("MS118", 1, "")]),
        ("\n\n", [("MS118", 1, "")]),
        ("a,b\n1\n1,2\n1,2,3,4\n", [("MS118", 2, "1"), ("MS118", 4, "3,4")]),
        ("a,A,b\n1,2,3\n", [("MS118", 1, "A")]),
        (
            "a-b,,1c, d\n1,2,3,4\n",
            [("MS110", 1, "a-b"), ("MS110", 1, ","), ("MS110", 1, "1c"), ("MS110", 1, " d")],
        ),
        ('a,b\n1,"x"y\n2,3\n4,"open\n5,6\n', [("MS118", 2, '"'), ("MS118", 4, '"')]),
        ('a,b\n1,"a,"b', [("MS118", 2, '"')]),
        ('a,"b\n1,2\n', [("MS118", 1, '"')]),
        ("a,b\n1,x\u2028y\n2\n", [("MS118", 3, "2")]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(content: str, expected: list[tuple[str, int, str]]) -> None:
    assert codes_and_carets(content) == expected


def test_an_open_quote_is_told_apart_from_a_stray_one() -> None:
    messages = [p.message for p in read('a\n"x"y\n"open')[1]]
    assert messages == [
        "expected a comma or the end of the line after a closing quote",
        "this quote is never closed",
    ]


def test_a_wrong_delimiter_is_guessed() -> None:
    assert "delimiter: ';'" in read("a;b\n1;2\n")[1][0].help


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("tinyint", ["-128", "007", "+1"], ["128", "1.0", "x"]),
        ("bigint", ["9223372036854775807"], ["9223372036854775808", "1" * 5000]),
        ("double", ["1", "NaN", "-Infinity", "1."], ["x", "1,5"]),
        ("decimal(4,2)", ["12.34", "-1", "0012.30", ".5"], ["123", "1.234", "1e2", "."]),
        ("boolean", ["True"], ["1", "yes"]),
        ("date", ["2024-01-31"], ["2024-1-31", "31.01.2024", "2024-02-30"]),
        ("timestamp", ["2024-01-31", "2024-01-31T10:00Z"], ["10:00", "2024-01-31 10"]),
        ("string", ["x", "1"], []),
    ],
)
def test_values_are_checked_against_a_declared_type(type_: str, good: list[str], bad: list[str]) -> None:
    content = "k,v\n" + "".join(f'x,"{value}"\n' for value in [*good, *bad, ""])
    first = len(good) + 2
    assert codes_and_carets(content, v=type_) == [
        ("MS118", first + n, f'"{value}"') for n, value in enumerate(bad)
    ]
    assert str(read(content, v=type_)[0].columns[1].type) == type_


def test_equal_values_before_do_not_move_the_place() -> None:
    assert [(p.line, p.location and p.location.column) for p in read("a,b\nx,x\n", b="int")[1]] == [
        ("x,x", 3)
    ]


def test_a_record_of_several_lines_is_located_in_its_own_line() -> None:
    assert codes_and_carets('a,b\n"1\n2",x\n', b="int") == [("MS118", 3, "x")]


def test_many_bad_values_are_counted() -> None:
    errors = read("a\n" + "x\n" * 50, a="int")[1]
    assert len(errors) == 20
    assert errors[-1].help.endswith("30 more values of the column are wrong")


def test_a_type_that_no_csv_file_holds() -> None:
    diagnostic = read("a\n1\n", a="array<int>")[1][0]
    assert (diagnostic.code, diagnostic.location) == ("MS107", LOCATION)


def test_null_where_none_may_be() -> None:
    column = DeclaredColumn("b", LOCATION, nullable=False)
    seed, errors = read_seed(File("s.csv", "a,b\n1,\n", ""), SeedProperties("s", LOCATION, columns=(column,)))
    assert [(p.code, p.location and p.location.column) for p in errors] == [("MS118", 3)]
    assert not seed.columns[1].nullable


def test_a_described_column_that_is_not_there() -> None:
    diagnostic = read("amount\n1\n", amunt="int")[1][0]
    assert (diagnostic.code, diagnostic.location, diagnostic.help) == (
        "MS117",
        LOCATION,
        "did you mean 'amount'?",
    )


def test_a_field_of_a_megabyte() -> None:
    seed, errors = read("a,b\n1," + "x" * 1_000_000 + "\n")
    assert (errors, seed.rows) == ([], 1)


FIELDS = st.text('ab,"\n ;', max_size=4)


@given(st.lists(st.lists(FIELDS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_what_is_quoted_is_read_back(rows: list[list[str]]) -> None:
    quoted = ["a,b", *(",".join('"' + value.replace('"', '""') + '"' for value in row) for row in rows)]
    seed, errors = read("\n".join(quoted) + "\n")
    assert errors == []
    assert seed.rows == len(rows)


@given(st.text('ab1,"\n', max_size=30))
def test_no_file_is_too_strange(content: str) -> None:
    text = FileText("seeds/s.csv", content)
    for diagnostic in read(content, a="int")[1]:
        assert diagnostic.code in {"MS110", "MS117", "MS118"}
        assert diagnostic.location
        assert diagnostic.location.path != text.path or diagnostic.location.line <= content.count("\n") + 1
