"""A wrong argument is reported where it is written, with what the function takes and a remedy that works."""

import pytest
from shop import analysis, errors

E = "from sources.shop.events"

CALLS = {
    # the call, the place, what is wrong, the call that the remedy says
    "element_at(tags, 'x')": ("'x'", "does not take string", "element_at(tags, 1)"),
    "element_at(tags, type)": ("type", "does not take string", "element_at(tags, cast(type as int))"),
    "try_element_at(labels, 1)": ("1", "does not take int", "try_element_at(labels, 'a')"),
    "try_element_at(labels, id)": ("id", "does not take bigint", "try_element_at(labels, cast(id as string))"),
    "map_concat(labels, tags)": ("tags", "takes a map as its second argument, not array<string>", "map_concat(labels, labels)"),
    "size(type)": ("type", "takes an array or a map, not string", "size(tags)"),
    "not value": ("value", "expected a condition", "not value > 1"),
    "upper(tags)": ("tags", "takes a text, not array<string>", "upper(cast(tags as string))"),
    "date_trunc('hours', type)": ("'hours'", "does not know the unit 'hours'", "date_trunc('hour', type)"),
    "date_trunc('hour', value)": ("value", "takes a date or a timestamp", "date_trunc('hour', cast(value as timestamp))"),
    "trunc(ts, 'hour')": ("'hour'", "does not know the unit 'hour'", "trunc(ts, 'week')"),
    "timestampadd(MILLISECONDS, 1, ts)": ("MILLISECONDS", "is not a unit", "timestampadd(millisecond, 1, ts)"),
    "timestampdiff(days, ts, ts)": ("days", "is not a unit", "timestampdiff(day, ts, ts)"),
    "datediff('day', ts, ts)": ("'day'", "takes a unit without quotes", "datediff(day, ts, ts)"),
    "date_diff('DAYS', ts, ts)": ("'DAYS'", "takes a unit without quotes", "date_diff(day, ts, ts)"),
    "dateadd('day', 1, ts)": ("'day'", "takes a unit without quotes", "dateadd(day, 1, ts)"),
    "date_add('day', 1, ts)": ("'day'", "takes a unit without quotes", "date_add(day, 1, ts)"),
    "timestampdiff('day', ts, ts)": ("'day'", "takes a unit without quotes", "timestampdiff(day, ts, ts)"),
    "timestampadd('day', 1, ts)": ("'day'", "takes a unit without quotes", "timestampadd(day, 1, ts)"),
    "date_trunc(day, ts)": ("day", "takes a unit in quotes", "date_trunc('day', ts)"),
    "trunc(ts, MONTH)": ("MONTH", "takes a unit in quotes", "trunc(ts, 'month')"),
    "date_part(hour, ts)": ("hour", "takes a unit in quotes", "date_part('hour', ts)"),
    "datepart(hour, ts)": ("hour", "takes a unit in quotes", "datepart('hour', ts)"),
    "date_part('years_', ts)": ("'years_'", "is not a part of a time", "date_part('year', ts)"),
    "from_json(type, 'a int, b')": ("'a int, b'", "is not a schema", "from_json(type, 'a int, b string')"),
    "from_json(type, type)": ("type", "needs a constant as its second argument", "from_json(type, 'a int')"),
    "from_json(id, 'a int')": ("id", "takes a text as its first argument", "from_json(cast(id as string), 'a int')"),
    "parse_url(type, tags)": ("tags", "takes a text as its second argument", "parse_url(type, 'HOST')"),
    "array_join(id, ',')": ("id", "takes an array of texts", "array_join(tags, ',')"),
    "array_contains(tags, id)": ("id", "does not take bigint", "array_contains(tags, cast(id as string))"),
    "array_append(tags, id)": ("id", "does not take bigint", "array_append(tags, cast(id as string))"),
    "map_keys(meta)": ("meta", "takes a map, not struct", "map_keys(labels)"),
    "explode(type)": ("type", "takes an array or a map", None),
    "greatest(id, type)": ("greatest", "can't mix bigint, string", "greatest(id, cast(type as bigint))"),
    "sequence(ts, ts, 1)": ("sequence", "must be an interval", "sequence(ts, ts, interval 1 hour)"),
    "variant_get(type, '$.a')": ("type", "takes a variant", "variant_get(parse_json(type), '$.a')"),
    "variant_get(v, '$.a', 'integr')": ("'integr'", "is not a type", "variant_get(v, '$.a', 'int')"),
    "to_number(type, 'abc')": ("'abc'", "is not a format of numbers", "to_number(type, '999.99')"),
    "to_binary(type, 'base65')": ("'base65'", "does not know the format", "to_binary(type, 'base64')"),
    "percentile(id, 50)": ("50", "is not a fraction between 0 and 1", "percentile(id, 0.5)"),
    "percentile_approx(tags, 0.5)": ("tags", "takes a number", "percentile_approx(id, 0.5)"),
    "sum(meta)": ("meta", "takes a number or an interval", "sum(value)"),
    "max(labels)": ("labels", "takes a value that can be ordered", "max(map_keys(labels))"),
    "max_by(id, labels)": ("labels", "takes a value that can be ordered as its second argument", "max_by(id, ts)"),
    "collect_set(labels)": ("labels", "takes a value without maps", "collect_set(map_keys(labels))"),
    "bool_or(id)": ("id", "takes a boolean", "bool_or(id > 1)"),
    "filter(tags, t -> length(t))": ("t -> length(t)", "must return boolean", "filter(tags, t -> length(t) > 1)"),
    "aggregate(tags, 0, (n, t) -> n + 1L)": ("(n, t) -> n + 1L", "must return int", "aggregate(tags, 0L, (n, t) -> n + 1L)"),
    "round(value, id)": ("id", "needs a constant as its second argument", "round(value, 2)"),
    "named_struct(type, id)": ("type", "must be a text literal", "named_struct('type', id)"),
    "map(labels, 1)": ("map", "can't be a key of a map", "map(map_keys(labels), 1)"),
    "map('a', 1, 'b')": ("map", "pairs of a key and a value", "map('a', 1, 'b', 2)"),
    "upper(distinct type)": ("upper", "takes no DISTINCT", "upper(type)"),
    "upper(type) filter (where id > 1)": ("upper", "can't have FILTER", "case when id > 1 then upper(type) end"),
    "mod(*)": ("mod", "takes 2 arguments", "mod(id, 2)"),
    "unix_date(ts)": ("ts", "takes a date", "unix_date(cast(ts as date))"),
    "unix_millis(type)": ("type", "takes a timestamp", "unix_millis(cast(type as timestamp))"),
    "timestamp_millis(value)": ("value", "takes a whole number", "timestamp_millis(cast(value as bigint))"),
    "collate(type, 'nope!')": ("'nope!'", "is not a collation", "collate(type, 'UTF8_LCASE')"),
    "mask(type, 'XX')": ("'XX'", "is not one character", "mask(type, 'X')"),
    "tags like 'a%'": ("tags", "compare texts", "tags[0] like 'a%'"),
    "meta = labels": ("meta", "can't be compared", "meta = meta"),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_wrong_argument(call):
    fragment, message, right = CALLS[call]
    sql = f"select {call} as x {E}"
    diagnostics = analysis(sql).diagnostics
    assert len(diagnostics) == 1, diagnostics
    assert message in diagnostics[0].message
    assert sql[diagnostics[0].start : diagnostics[0].stop].startswith(fragment)
    assert diagnostics[0].help
    if right is not None:
        assert not errors(f"select {right} as x {E}")


CASTS = [call for call, (fragment, _, right) in CALLS.items() if right and f"cast({fragment} as" in right]


@pytest.mark.parametrize("call", CASTS)
def test_the_remedy_is_the_cast_to_write(call):
    fragment, _, right = CALLS[call]
    diagnostic = analysis(f"select {call} as x {E}").diagnostics[0]
    cast = diagnostic.help.removeprefix("write ")
    assert cast.startswith("cast(")
    assert call.replace(fragment, cast) == right
