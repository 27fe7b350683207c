"""The text of all queries of small projects."""

from inspect import cleandoc

from msgspec.structs import replace
from planned_projects import of, planned, text
from support.building import sink, stored
from support.plans import by, group, lookup, seed, select, topic, where


def reads(physical, expected):
    assert text(physical) == cleandoc(expected)


def test_a_fan_out_and_a_table():
    events = replace(topic("a", "type"), on_bad_record="skip")
    shared = of(where(events, "a > 0"), "positive")
    reads(
        planned(
            sink(of(select(where(shared, "type = 'x'", model="model.xs"), "a"), "xs"), "xs", "a"),
            sink(of(select(shared, "b = a + a"), "doubles"), "doubles"),
            stored(of(select(shared, "a", "type"), "all"), "all", "a"),
        ),
        r"""
        # events_topics (stateless, append): xs, doubles, positive
        # events_records: a, type
        # view events_decoded
        select
          events.a,
          events.type,
          events._bad is not null as _bad,
          struct(events_records.topic, events_records.partition, events_records.`offset`, array(named_struct('key', 'millstream.position', 'value', cast(concat_ws('-', events_records.topic, events_records.partition, events_records.`offset`) as binary))) as placed) as _record
        from events_records
        lateral view inline(array(decode_json(events_records.value, 'a int, type string', 'plain'))) events as a, type, _bad
        CountedView(name='events', of='events_decoded', relation='source.events', good=())
        with events_filtered as (
          -- positive
          select
            a,
            type,
            _record
          from events
          where a > 0
        )
        select
          topic, key, value, headers
        from (
          select
            array(
              if(type = 'x', named_struct('topic', 'xs', 'key', cast(cast(a as string) as binary), 'value', cast(encode_json(struct(a)) as binary), 'headers', _record.placed), null),
              named_struct('topic', 'doubles', 'key', cast(null as binary), 'value', cast(encode_json(struct(a + a as b)) as binary), 'headers', _record.placed)
            ) as _records
          from events_filtered
        )
        lateral view inline(_records) records
        where topic is not null

        # events_tables (stateless, append): all, positive
        # events_records: a, type
        # view events_decoded
        select
          events.a,
          events.type,
          events._bad is not null as _bad
        from events_records
        lateral view inline(array(decode_json(events_records.value, 'a int, type string', 'plain'))) events as a, type, _bad
        CountedView(name='events', of='events_decoded', relation='source.events', good=())
        select
          a,
          type
        from events
        where a > 0
        # of all_batch: TableOutput
        select
          a,
          type
        from all_batch
        """,
    )


def test_two_aggregates_on_one_key_and_one_with_a_lookup():
    events = replace(topic("a", "b"), on_bad_record="skip")
    together = by(where(events, "b > 0"), "a")
    counts = of(group(together, ("a",), "n = count(*)"), "counts")
    named = of(select(lookup(counts, seed("a", "name"), "a = r_a", "left"), "a", "n", "name"), "named")
    tops = of(select(where(group(together, ("a",), "top = max(b)"), "top > 9"), "a", "top"), "tops")
    reads(
        planned(sink(named, "named", "a"), sink(tops, "tops", "a")),
        r"""
        # events_by_a (stateful, update): named, tops, m, counts
        # events_records: a, b
        # view events_decoded
        select
          events.a,
          events.b,
          events._bad is not null as _bad
        from events_records
        lateral view inline(array(decode_json(events_records.value, 'a int, b int', 'plain'))) events as a, b, _bad
        CountedView(name='events', of='events_decoded', relation='source.events', good=())
        # view events_by_a
        with events_by_a as (
          -- m
          select /*+ repartition(2, a) */
            a,
            b
          from events
          where b > 0
            and spark_partition_id() >= 0
        )
        select
          a,
          b
        from events_by_a
        with events_grouped as (
          -- counts
          select
            a,
            count(*) as n
          from events_by_a
          group by events_by_a.a
        )
        select
          'named' as topic,
          cast(cast(events_grouped.a as string) as binary) as key,
          cast(encode_json(struct(events_grouped.a, events_grouped.n, products.name)) as binary) as value
        from events_grouped
        left join products on events_grouped.a = products.a
        union all
        select
          'tops' as topic,
          cast(cast(a as string) as binary) as key,
          if(not coalesce((max(b)) > 9, false), null, cast(encode_json(struct(a, max(b) as top)) as binary)) as value
        from events_by_a
        group by events_by_a.a
        having ((max(events_by_a.b)) > 9 or false /* no other version has sent rows */)
        """,
    )
