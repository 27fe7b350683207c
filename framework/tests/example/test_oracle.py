"""The oracle's own parts on rows whose answers were worked out by hand."""

import json
from collections import Counter
from datetime import datetime, timedelta, timezone

import pytest
from example import models
from example.generated import generated
from example.oracle import as_rows, expected, same
from example.reading import decoded, event_types, latest
from example.spark_values import (
    Either,
    half_up,
    max_by,
    ratio,
    timestamp_millis,
    total,
    unix_millis,
    window,
    window_key,
)

HOUR = timedelta(hours=1)


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


# Values


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        (0.125, 2, 0.13),  # Python's own round gives 0.12, to the even digit
        (2.675, 2, 2.68),  # the double is less than that, its shortest text is not
        (-0.125, 2, -0.13),
        (1.005, 2, 1.01),
        (1e300, 2, 1e300),
        (7.0, 4, 7.0),
        (None, 2, None),
    ],
)
def test_round_goes_away_from_zero_at_a_half(value, digits, rounded):
    assert half_up(value, digits) == rounded


@pytest.mark.parametrize(
    ("numerator", "denominator", "quotient"),
    [(100, 3, 33.33), (101, 8, 12.63), (0, 5, 0.0), (5, 0, None), (None, 5, None), (5, None, None)],
)
def test_a_ratio_needs_a_positive_denominator(numerator, denominator, quotient):
    assert ratio(numerator, denominator, 2) == quotient


def test_a_sum_of_nothing_but_nulls_is_null():
    assert total([None, 0.1, 0.2]) == pytest.approx(0.3)
    assert total([None, None]) is None


def test_max_by_takes_the_value_of_the_largest_and_no_null():
    assert max_by([("a", 1), ("b", 3), ("c", 2), ("d", None)]) == "b"
    assert max_by([("a", None)]) is None


def test_max_by_leaves_open_which_of_equals():
    assert max_by([("a", 3), ("b", 3), ("c", 2)]) == Either(("a", "b"))
    assert max_by([("a", 3), ("a", 3)]) == "a"


@pytest.mark.parametrize(
    ("moment", "start"),
    [
        ("2026-01-01 10:00:00", "2026-01-01 10:00:00"),
        ("2026-01-01 10:59:59.999", "2026-01-01 10:00:00"),
        ("2026-01-01 11:00:00", "2026-01-01 11:00:00"),
        ("1969-12-31 23:30:00", "1969-12-31 23:00:00"),
    ],
)
def test_a_window_begins_with_its_start_and_ends_before_its_end(moment, start):
    assert window(utc(moment), HOUR) == (utc(start), utc(start) + HOUR)


def test_windows_are_counted_from_1970_and_not_from_midnight():
    # 1767312000 seconds to midnight are six more than a multiple of seven.
    assert window(utc("2026-01-02 00:00:03"), timedelta(seconds=7)) == (
        utc("2026-01-02 00:00:01"),
        utc("2026-01-02 00:00:08"),
    )


def test_a_window_key_has_milliseconds_and_is_null_without_a_key():
    assert window_key("u1", utc("2026-01-01 10:00:00")) == "u1@1767261600000"
    assert window_key(None, utc("2026-01-01 10:00:00")) is None


def test_milliseconds_are_exact():
    assert timestamp_millis(1767261600001) == utc("2026-01-01 10:00:00.001")
    assert unix_millis(timestamp_millis(1767261600001)) == 1767261600001


# Reading


def test_a_topic_gives_all_columns_and_its_key():
    assert decoded("page_hits", [("nl-ut-1", {"timestamp": 0, "more": 1}), ("bad", None)]) == [
        {"visitor_key": "nl-ut-1", "path": None, "timestamp": 0, "event_time": timestamp_millis(0)}
    ]


def test_a_bad_record_stops_a_topic_that_fails():
    with pytest.raises(ValueError, match="device_events"):
        decoded("device_events", [("1", None)])


def test_the_newest_version_of_a_key_counts_and_null_deletes():
    records = [("a", {"v": 1}), ("b", {"v": 1}), ("a", {"v": 2}), ("b", None), ("c", None), ("c", {"v": 3})]
    assert latest(records) == {"a": {"v": 2}, "c": {"v": 3}}


def test_event_types_are_those_of_the_seed():
    assert event_types()[3] == "purchase"


# Models


def test_an_unknown_type_is_not_interesting():
    event = dict.fromkeys(
        ["event_id", "user_id", "product_id", "category", "value", "timestamp", "metadata", "event_time"]
    )
    events = models.stg_storefront_events([event | {"type": t} for t in ("view", "hover", None, "scroll")])
    assert [row["event_type"] for row in events] == ["view"]


def test_a_score_has_its_type_its_category_and_its_value():
    event = dict.fromkeys(["user_id", "product_id", "timestamp", "metadata"])
    event |= {"event_type": "purchase", "category": "electronics", "value": 25.125}
    (scored,) = models.scored_storefront_events([event])
    assert (scored["score"], scored["value"], scored["status"]) == (17.51, 25.13, "PROCESSED")


def test_counts_leave_out_unknown_types_and_take_a_missing_score_for_none():
    def activity(type_, score, millis):
        return {
            "user_id": "u1",
            "activity_type": type_,
            "score": score,
            "duration_ms": 1,
            "timestamp": millis,
            "event_time": timestamp_millis(millis),
        }

    rows = [activity("login", 10, 1), activity("click", None, 3), activity(None, 99, 4), activity("x", 5, 2)]
    (user,) = models.active_users(models.user_activity_totals(rows))
    assert user == {
        "user_id": "u1",
        "total_count": 3,
        "login_count": 1,
        "page_view_count": 0,
        "click_count": 1,
        "purchase_count": 0,
        "logout_count": 0,
        "total_score": 15,
        "last_activity": {"type": "click", "score": None, "duration_ms": 1, "timestamp": 3},
        "last_active_at": timestamp_millis(3),
        "avg_score": 5.0,
    }


@pytest.mark.parametrize(
    ("valid", "type_", "priority", "passes"),
    [
        (True, "valid_view", "low", True),
        (None, "valid_view", "low", False),
        (True, None, "low", False),
        (True, "invalid", "low", False),
        (True, "valid_view", None, False),
        (True, "valid_view", "spam", False),
    ],
)
def test_a_null_is_not_valid(valid, type_, priority, passes):
    event = dict.fromkeys(["event_id", "score", "timestamp", "batch_id", "source", "event_time"])
    event |= {"is_valid": valid, "event_type": type_, "priority": priority}
    assert bool(models.valid_partner_events([event])) is passes


def test_gaps_are_filled_before_the_complex_score():
    event = dict.fromkeys(["event_id", "timestamp", "score", "batch_id", "source"])
    event |= {"event_type": "valid_purchase", "priority": "high"}
    (scored,) = models.scored_partner_events(models.enriched_partner_events([event]))
    assert scored["scores"] == {"base_score": 0, "complex_score": 70.0}
    assert (scored["batch_id"], scored["source"]) == (0, "unknown")


@pytest.mark.parametrize(
    ("type_id", "value", "score", "processed"),
    [
        (3, 105, 50, ("purchase", 115, 70)),
        (3, -105, 90, ("purchase", -115, 100)),
        (3, None, 10, ("purchase", None, 30)),
        (1, 105, 90, ("view", 105, 90)),
        (9, 105, 90, ("unknown", 105, 90)),
    ],
)
def test_purchases_get_a_bonus(type_id, value, score, processed):
    event = {"user_id": 1, "event_type_id": type_id, "value": value, "score": score}
    event |= {"timestamp": None, "metadata": None}
    scored = models.stg_device_events([event], {1: "view", 3: "purchase"})
    (adjusted,) = models.adjusted_device_events(scored)
    assert tuple(adjusted["processed_event"][name] for name in ("type", "value", "score")) == processed


@pytest.mark.parametrize(("score", "passes"), [(10, 1), (9, 0), (None, 0)])
def test_ten_points_are_enough(score, passes):
    event = {"user_id": 1, "event_type_id": 1, "value": 1, "timestamp": 1, "metadata": None, "score": score}
    assert len(models.stg_device_events([event], {})) == passes


def test_a_line_of_text_leaves_out_what_is_null():
    event = {"type": "click", "user_id": 7, "value": None, "score": 12, "timestamp": 1}
    row = {"user_id": 7, "processed_event": event, "metadata": None, "processing_info": {}}
    assert models.readable_device_events([row])[0]["summary"] == "EVENT:click USER:7 SCORE:12"


def event(type_, millis, product="p1", value=0.0):
    return {
        "user_id": "u1",
        "event_type": type_,
        "product_id": product,
        "value": value,
        "event_time": timestamp_millis(millis),
    }


def test_an_hour_counts_a_product_once_and_ends_before_the_next():
    rows = [event("view", 0, "p2"), event("purchase", 3_599_999, value=0.1), event("purchase", 1, value=0.2)]
    rows += [event("search", 2, None), event("click", 3_600_000), event("view", None)]
    first, second = models.hourly_user_activity(rows)
    assert first == {
        "metrics_key": "u1@0",
        "window_start": timestamp_millis(0),
        "window_end": timestamp_millis(3_600_000),
        "user_id": "u1",
        "event_count": 4,
        "view_count": 1,
        "click_count": 0,
        "purchase_count": 2,
        "search_count": 1,
        "total_value": 0.3,
        "product_ids": ["p1", "p2"],
        "unique_products": 2,
        "last_updated": timestamp_millis(3_599_999),
    }
    assert (second["metrics_key"], second["event_count"]) == ("u1@3600000", 1)


def test_only_four_types_are_categorized():
    row = {
        "event_id": "e",
        "user_id": "u",
        "product_id": None,
        "value": None,
        "timestamp": 1,
        "event_time": None,
    }
    types = ["view", "search", "logout", None]
    categorized = models.categorized_app_events([row | {"event_type": type_} for type_ in types])
    assert [(row["category"], row["value"]) for row in categorized] == [
        ("engagement", 0.0),
        ("conversion", 0.0),
    ]


def test_categories_go_by_number_and_name_and_the_sixth_product_is_not_looked_at():
    shelves = {"p1": "sports", "p2": "books", "p3": "home", "p4": "books", "p5": "clothing", "p6": "home"}
    products = {product: {"category": category} for product, category in shelves.items()}
    (many, few) = models.hourly_user_interests(
        [{"product_ids": sorted(shelves)}, {"product_ids": ["p9"]}], products
    )
    assert many["top_categories"] == [
        {"category": "books", "products": 2},
        {"category": "clothing", "products": 1},
        {"category": "home", "products": 1},
    ]
    assert few["top_categories"] == []


def test_rates_and_profiles_may_be_unknown():
    (hour,) = models.hourly_user_activity([event("click", 0), event("click", 1), event("purchase", 2)][:3])
    (metrics,) = models.hourly_user_metrics([hour | {"top_categories": []}], {"u1": {"segment": "vip"}})
    assert (metrics["click_through_rate"], metrics["conversion_rate"]) == (None, 0.5)
    assert (metrics["user_segment"], metrics["account_age_days"]) == ("vip", None)
    assert models.hourly_user_metrics([hour | {"top_categories": []}], {})[0]["user_segment"] == "unknown"


def test_hits_are_counted_by_region_and_by_five_seconds():
    hits = [("nl-ut-1", 0), ("nl-ut-2", 4999), ("nl-ut-1", 5000), ("be", None), (None, 1)]
    rows = [{"visitor_key": key, "event_time": timestamp_millis(millis)} for key, millis in hits]
    regions = models.stg_page_hits(rows)
    counted = models.region_hit_counts(regions)
    assert counted == [{"region": "nl-ut", "hit_count": 3}, {"region": "be", "hit_count": 1}]
    assert [(row["window_key"], row["hit_count"]) for row in models.region_hit_counts_5s(regions)] == [
        ("nl-ut@0", 2),
        ("nl-ut@5000", 1),
    ]


# All of it, and what differs


@pytest.fixture(scope="module")
def of_the_generators():
    return expected(generated(2000))


def test_every_output_is_expected_and_has_rows(of_the_generators):
    empty = {name for name, rows in of_the_generators.items() if not rows}
    assert empty == {
        "storefront_events.dead_letter",
        "account_activity.dead_letter",
        "app_events.dead_letter",
    }
    assert len(of_the_generators) == 17


def test_the_order_between_keys_does_not_matter(of_the_generators):
    records = generated(2000)
    by_key = {topic: sorted(rows, key=lambda record: record[0]) for topic, rows in records.items()}
    assert same(of_the_generators, expected(by_key)) == []


def test_what_spark_writes_reads_as_the_same_rows():
    hour = {"window_start": utc("2026-01-01 10:00:00"), "total": 0.3, "value": None, "ids": ["p1"]}
    written = b'{"window_start":"2026-01-01T10:00:00.000Z","total":0.30000000000000004,"ids":["p1"]}'
    rows = as_rows("hourly_user_activity", [(b"k", b"{}"), (b"k", written)])
    assert same({"o": as_rows("hourly_user_activity", [("k", hour)])}, {"o": rows}) == []


def test_a_time_zone_and_microseconds_make_no_difference():
    one = as_rows("categorized_app_events", [("k", {"event_time": "2026-01-01T11:00:00.000000+01:00"})])
    assert one == as_rows("categorized_app_events", [(b"k", {"event_time": utc("2026-01-01 10:00:00")})])


def test_a_null_is_the_same_as_a_field_that_is_left_out():
    row = {"a": None, "b": {"c": None}, "d": [None]}
    written = as_rows("scored_storefront_events", [("k", b'{"b":{},"d":[null]}')])
    assert as_rows("scored_storefront_events", [("k", row)]) == written


def test_events_are_a_multiset():
    once = as_rows("scored_storefront_events", [("k", {"a": 1})])
    twice = as_rows("scored_storefront_events", [("k", {"a": 1}), ("k", {"a": 1})])
    assert same({"o": twice}, {"o": once}) == ["""o['k']: missing {"a": 1}"""]
    assert same({"o": once}, {"o": twice}) == ["""o['k']: too much once more: {"a": 1}"""]


def test_events_with_nearly_equal_doubles_are_equal():
    def of(*values):
        return {"o": as_rows("scored_storefront_events", [("k", {"a": value}) for value in values])}

    assert same(of(0.3, 1.0), of(1.0, 0.1 + 0.2)) == []
    assert same(of(0.3), of(0.31)) == [
        """o['k']: missing {"a": 0.3}; there is {"a": 0.31}""",
        """o['k']: too much: {"a": 0.31}""",
    ]


@pytest.mark.parametrize(
    ("row", "difference"),
    [
        ({"m": {"n": 2, "of": [1]}}, "o['k'].m.n: expected 1, found 2"),
        ({"m": {"n": 1, "of": [2]}}, "o['k'].m.of[0]: expected 1, found 2"),
        ({"m": {"n": 1, "of": []}}, "o['k'].m.of: expected [1], found []"),
        ({"m": {"n": 1.0, "of": [1]}}, "o['k'].m.n: expected 1, found 1.0"),
        ({"m": {"n": True, "of": [1]}}, "o['k'].m.n: expected 1, found True"),
        ({"m": None}, "o['k'].m: expected {'n': 1, 'of': [1]}, found None"),
    ],
)
def test_a_difference_names_its_place(row, difference):
    assert same(
        {"o": {"k": {"m": {"n": 1, "of": [1]}}}}, {"o": as_rows("hourly_user_metrics", [("k", row)])}
    ) == [difference]


def test_a_deleted_row_is_as_no_row():
    deleted = as_rows("hourly_user_metrics", [("k", b'{"a":1}'), ("k", None)])
    assert deleted == {"k": None}
    assert same({"o": {}}, {"o": deleted}) == []
    assert same({"o": {"k": {"a": 1}}}, {"o": deleted}) == ["o['k']: missing {'a': 1}"]


def test_any_of_equals_is_right():
    tied = as_rows("hourly_user_metrics", [("k", {"last": Either(({"n": 1}, {"n": 2}))})])
    assert same({"o": tied}, {"o": {"k": {"last": {"n": 2}}}}) == []
    assert same({"o": tied}, {"o": {"k": {"last": {"n": 3}}}}) != []


def test_outputs_that_are_not_there_are_told():
    assert same({"a": {}}, {"b": Counter()}) == ["a: not found", "b: not expected"]


def test_long_lists_are_cut():
    rows = as_rows("hourly_user_metrics", [(f"k{n}", {"a": n}) for n in range(9)])
    assert same({"o": rows}, {"o": {}})[-1] == "o: and 4 more differences"


def test_dead_letters_keep_the_bytes_that_could_not_be_read():
    letters = as_rows("app_events.dead_letter", [(b"k", b"{no json"), (b"k", json.dumps({"a": 1}).encode())])
    assert letters == Counter({("k", "{no json"): 1, ("k", '{"a": 1}'): 1})
