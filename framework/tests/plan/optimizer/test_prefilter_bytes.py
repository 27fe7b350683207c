"""Records are dropped by their text before they are decoded, where JSON can't have hidden it."""

import pytest
from msgspec.structs import replace
from support.building import after, leaves_unchanged, sink, text
from support.plans import output, select, topic, watermark, where

from millstream.formats.registry import Encoding
from millstream.plan.optimizer.rules.prefilter_bytes import prefilter_bytes

EVENTS = replace(topic("type", "a", "b"), on_bad_record="skip")


def words(*conditions):
    """Return the words that records are searched for."""
    rewritten = after(prefilter_bytes, *(sink(where(EVENTS, c), f"m{i}") for i, c in enumerate(conditions)))
    line = next((line for line in rewritten.splitlines() if "filter (contains(" in line), "")
    return [part.rpartition(", '")[2].rstrip("')") for part in line.split(" or ")[:-1]]


def stays(node):
    return leaves_unchanged(prefilter_bytes, [output(node, "m")])


def test_a_word_that_is_asked_for():
    assert after(prefilter_bytes, sink(where(EVENTS, "type = 'purchase'"), "m")) == text(r"""
        sink m
          filter type = 'purchase'
            decode json: type, a, b
              filter (contains(cast(value as string), 'purchase') or contains(cast(value as string), '\\'))
                topic events
    """)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("type <=> 'view'", ["view"]),
        ("'view' = type", ["view"]),
        ("type in ('view', 'purchase')", ["view", "purchase"]),
        ("type like 'view%'", ["view"]),
        ("type like '%view%'", ["view"]),
        ("startswith(type, 'view')", ["view"]),
        ("(type = 'view') or (type = 'purchase')", ["view", "purchase"]),
        ("type = 'view' or type = 'purchase' and a > 1", ["view", "purchase"]),
        ("a > 1 and (type = 'view' or (type = 'purchase'))", ["view", "purchase"]),
        ("(type = 'view') and (a = 1 or a = 2)", ["view"]),
        ("a between 1 and 2 and type = 'view'", ["view"]),
    ],
)
def test_conditions_that_name_words(condition, expected):
    assert words(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "type <> 'view'",
        "not type = 'view'",
        "not (type = 'view')",
        "type >= 'view'",
        "type <= 'view'",
        "type not in ('view')",
        "type = 'view' or a > 1",
        "a > 1",
        "a = 'view'",
        "upper(type) = 'VIEW'",
        "type = 'vi'",
        "type = 'vi\"ew'",
        "type = 'vïew'",
        "type like 'v_ew%'",
        "type like 'a%view'",
        "type = '1000'",
        "type = '1e10'",
        "type = 'NaN'",
        "startswith(type, 'Inf')",
        "type in ('view', '1000')",
        "type in ('view', a)",
        "case when a > 1 and type = 'view' and b > 1 then true else true end",
        "contains('preview view', type)",
    ],
)
def test_conditions_that_do_not(condition):
    assert stays(where(EVENTS, condition))


def test_the_name_of_a_field_is_in_every_record():
    assert stays(where(replace(topic("type", "viewed"), on_bad_record="skip"), "type = 'view'"))


def test_all_readers_of_a_topic_are_asked():
    assert words("type = 'view'", "type = 'purchase'") == ["view", "purchase"]


def test_one_reader_of_all_rows_needs_all_records():
    outputs = [output(where(EVENTS, "type = 'view'"), "x"), output(select(EVENTS, "a"), "y")]
    assert leaves_unchanged(prefilter_bytes, outputs)


@pytest.mark.parametrize("on_bad_record", ["fail", "dead_letter"])
def test_a_bad_record_must_be_seen(on_bad_record):
    assert stays(where(replace(EVENTS, on_bad_record=on_bad_record), "type = 'view'"))


@pytest.mark.parametrize("format_", ["csv", "xml", "string"])
def test_other_formats_write_words_otherwise(format_):
    assert stays(where(replace(EVENTS, format=Encoding(format_)), "type = 'view'"))


def test_an_old_version_must_be_seen_to_be_deleted():
    assert stays(where(replace(EVENTS, unique_by=("a",)), "type = 'view'"))


def test_records_that_move_a_watermark_must_be_seen():
    timed = watermark(replace(topic("type", "ts"), on_bad_record="skip"))
    assert stays(where(timed, "type = 'view'"))


def test_switched_off():
    outputs = [output(where(EVENTS, "type = 'view'"), "m")]
    assert leaves_unchanged(prefilter_bytes, outputs, m=frozenset({"prefilter_bytes"}))
