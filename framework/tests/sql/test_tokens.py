from millstream.sql.streaming import WatermarkClause
from millstream.sql.tokens import MARK, Tokens, tokenize_sql
from millstream.sql.values import SqlDiagnostic


def texts(sql: str) -> list[str]:
    tokens = tokenize_sql(sql)
    assert isinstance(tokens, Tokens)
    return [token.text for token in tokens.tokens]


def marked(sql: str) -> list[str]:
    return [text.removesuffix(MARK) for text in texts(sql) if text.endswith(MARK)]


def test_calls_are_marked():
    assert marked("select upper(name), count(*) from t") == ["upper", "count"]


def test_words_of_the_syntax_are_not_marked():
    assert marked("select a in (1), cast(a as int), not (b) from t where exists (select 1)") == []


def test_columns_of_an_alias_are_no_call():
    assert marked("with t (a, b) as (select 1, 2) select * from t as u(c, d)") == []


def test_a_type_with_a_size_is_no_call():
    assert marked("select cast(a as decimal(10, 2)), b::char(3), cast(c as array<varchar(5)>) from t") == []


def test_filter_calls_or_belongs_to_an_aggregate():
    assert marked("select filter(a, x -> x > 1), count(*) filter (where a) from t") == ["filter", "count"]


def test_like_any_is_no_call():
    assert marked("select a like any ('x', 'y'), any(b) from t") == ["any"]


def test_syntax_inside_a_call_is_left_to_the_parser():
    assert marked("select trim(leading 'x' from a), trim(a), extract(day from b), substring(a from 2)") == [
        "trim"
    ]


def test_stream_is_taken_out_before_a_relation():
    assert texts("select a from stream t") == ["select", "a", "from", "t"]


def test_a_column_named_stream_stays():
    assert texts("select stream from t") == ["select", "stream", "from", "t"]


def test_a_watermark_is_noted_and_taken_out():
    sql = "select a from t watermark ts delay of interval 10 seconds as u"
    tokens = tokenize_sql(sql)
    assert isinstance(tokens, Tokens)
    assert [token.text for token in tokens.tokens] == ["select", "a", "from", "t", "as", "u"]
    clause = WatermarkClause(14, (26, 28), (38, 57))
    assert tokens.watermarks == [clause]
    assert sql[slice(*clause.expression)] == "ts"
    assert sql[slice(*clause.delay)] == "interval 10 seconds"


def test_a_watermark_of_an_expression():
    sql = "select a from t watermark to_timestamp(ts, 'x') delay of interval '1' minute"
    tokens = tokenize_sql(sql)
    assert isinstance(tokens, Tokens)
    assert sql[slice(*tokens.watermarks[0].expression)] == "to_timestamp(ts, 'x')"


def test_a_variant_path_is_noted_and_taken_out():
    tokens = tokenize_sql("select v:a.b[0].c::int from t")
    assert isinstance(tokens, Tokens)
    assert [token.text for token in tokens.tokens] == ["select", "v", "::", "int", "from", "t"]
    assert tokens.variant_paths == {7}


def test_colons_in_a_type_are_no_paths():
    assert "a" in texts("select cast(x as struct<a: int, b: array<struct<c: string>>>)")


def test_positions_stay_those_of_the_text():
    sql = "select a from stream t where b = 100L"
    tokens = tokenize_sql(sql)
    assert isinstance(tokens, Tokens)
    assert all(sql[token.start : token.end + 1] == token.text for token in tokens.tokens)


def test_a_number_keeps_its_suffix():
    assert texts("select 100L, 2.5BD, 3::int") == ["select", "100L", ",", "2.5BD", ",", "3", "::", "int"]


def test_an_unsigned_shift_is_read_as_a_shift():
    assert texts("select a >>> 1") == ["select", "a", ">", ">", "1"]


def unclosed(sql: str) -> str:
    diagnostic = tokenize_sql(sql)
    assert isinstance(diagnostic, SqlDiagnostic)
    assert diagnostic.code == "MS401"
    return sql[diagnostic.start :]


def test_a_text_that_is_not_closed():
    assert unclosed("select 'it''s', 'abc from t") == "'abc from t"


def test_a_name_that_is_not_closed():
    assert unclosed("select 'a', `b from t") == "`b from t"


def test_a_comment_that_is_not_closed():
    assert unclosed("select 1 -- it's\n/* and so on") == "/* and so on"
