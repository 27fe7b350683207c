"""What a query says, clause by clause."""

import pytest
from query_as_text import as_text
from shop import analysis

from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.types import BIGINT, INT
from millstream.sql.query import DerivedTable, Select, SqlUnion
from millstream.sql.values import Analysis

E = "from events = {source.shop.events}"
U = "from users = {model.users}"


def query(sql: str) -> str:
    analyzed = analysis(sql)
    assert not analyzed.diagnostics, analyzed.diagnostics
    return as_text(analyzed.query)


def select(sql: str) -> Select:
    parsed = analysis(sql).query
    assert parsed is not None
    assert isinstance(parsed.body, Select)
    return parsed.body


ITEMS = {
    "select id, e.type as kind from sources.shop.events e": """
        select id = e.id, kind = e.type
        from e = {source.shop.events}""",
    "select ID, Events.USER_ID as u from sources.shop.events": f"""
        select ID = events.id, u = events.user_id
        {E}""",
    "select * from models.users": f"""
        select id = users.id, name = users.name, country = users.country, age = users.age
        {U}""",
    "select * except (name, age) from models.users": f"""
        select id = users.id, country = users.country
        {U}""",
    "select meta.*, meta.os as o from sources.shop.events": f"""
        select device = events.meta.device, os = events.meta.os, o = events.meta.os
        {E}""",
    "select id as a, a + 1 as b from sources.shop.events": f"""
        select a = events.id, b = .a + 1!
        {E}""",
    "select distinct country from models.users": f"""
        select distinct country = users.country
        {U}""",
    "select 1 as one": "select one = 1",
    "table models.users": f"""
        select id = users.id, name = users.name, country = users.country, age = users.age
        {U}""",
    "select _offset from sources.shop.events": f"""
        select _offset = events._offset
        {E}""",
    "select models.users.id from models.users": f"""
        select id = users.id
        {U}""",
}

CONDITIONS = {
    "id > 1 and type = 'a' and value is null": "events.id > 1 & events.type = 'a' & events.value is null",
    "id > 1 or type = 'a' and value is null": "events.id > 1 or events.type = 'a' and events.value is null",
    "(id > 1 and (type = 'a' and (value > 2)))": "events.id > 1 & events.type = 'a' & events.value > 2",
    "(id > 1 or type = 'a') and value > 2": "events.id > 1 or events.type = 'a' & events.value > 2",
    "not (id = 1 and value = 2)": "not (events.id = 1 and events.value = 2)",
    "id between 1 and 2 and id between 3 and 4": "events.id between 1 and 2 & events.id between 3 and 4",
    "case when id > 1 and id < 9 then true end and id > 2": (
        "case when events.id > 1 and events.id < 9 then true end & events.id > 2"
    ),
    "id is distinct from 1 and id is not distinct from 2": (
        "events.id is distinct from 1 & events.id is not distinct from 2"
    ),
    "meta.device = 'x' and (id = 1) = (id = 2)": (
        "events.meta.device = 'x' & (events.id = 1) = (events.id = 2)"
    ),
}

JOINS = {
    "sources.shop.events e join models.users u on e.id = u.id and u.age > 1": """
        from e = {source.shop.events}
        inner u = {model.users} on e.id = u.id & u.age > 1""",
    "sources.shop.events e left outer join models.users u on (e.id = u.id)": """
        from e = {source.shop.events}
        left u = {model.users} on e.id = u.id""",
    "sources.shop.events e right join models.users u on e.id = u.id": """
        from e = {source.shop.events}
        right u = {model.users} on e.id = u.id""",
    "sources.shop.events e left semi join models.users u on e.id = u.id": """
        from e = {source.shop.events}
        semi u = {model.users} on e.id = u.id""",
    "sources.shop.events e left anti join models.users u using (id)": """
        from e = {source.shop.events}
        anti u = {model.users} on e.id = u.id""",
    "sources.shop.events e, models.users u": """
        from e = {source.shop.events}
        cross u = {model.users}""",
    "sources.shop.events e join models.users u": """
        from e = {source.shop.events}
        cross u = {model.users}""",
    "sources.shop.events e join models.users u using (id) join seeds.countries c using (country)": """
        from e = {source.shop.events}
        inner u = {model.users} on e.id = u.id
        inner c = {seed.countries} on u.country = c.country""",
    "models.users natural join seeds.countries": """
        from users = {model.users}
        inner countries = {seed.countries} on users.country = countries.country""",
    "(models.users u join seeds.countries c on u.country = c.country) join sources.shop.events e on e.id = u.id": """
        from u = {model.users}
        inner c = {seed.countries} on u.country = c.country
        inner e = {source.shop.events} on e.id = u.id""",
    "models.users join (select id as x from models.users) users_2 on id = x": """
        from users = {model.users}
        inner users_2 = (select x = users.id / from users = {model.users}) on users.id = users_2.x""",
    "models.users a join (select 'x' as k) on a.name = k": """
        from a = {model.users}
        inner rows = (select k = 'x') on a.name = rows.k""",
    "(select * from (select id as k from models.users) a) b (n)": """
        from b = (select n = b.k / from b = (select k = a.k / from a = (select k = users.id / from users = {model.users})))""",
    "models.users as u (a, b, c, d)": """
        from u = (select a = u.id, b = u.name, c = u.country, d = u.age / from u = {model.users})""",
    "sources.shop.events e, lateral explode(e.tags) as t(tag)": """
        from e = {source.shop.events}
        from t = rows of explode(e.tags): tag""",
    "sources.shop.events lateral view outer explode(labels) l as k, v2": """
        from events = {source.shop.events}
        from l = outer rows of explode(events.labels): k, v2""",
    "sources.shop.events e left join lateral split_up(e.type) w": """
        from e = {source.shop.events}
        from w = outer python rows of split_up(e.type)!: word, n""",
    "range(3)": "from range = rows of range(3): id",
    "sources.shop.events watermark ts delay of interval 10 seconds": """
        from events = {source.shop.events} watermark events.ts interval 10 seconds""",
    "(select ts from stream sources.shop.events watermark Ts delay of interval '1'  hour) s": """
        from s = (select ts = events.ts / from events = {source.shop.events} watermark events.ts interval '1' hour)""",
}

MERGED = {
    "select id, u.id as u from models.users u left join sources.shop.events e using (id)": "id = u.id, u = u.id",
    "select id, u.id as u from models.users u right join sources.shop.events e using (id)": "id = e.id, u = u.id",
    "select id, u.id as u from models.users u full join sources.shop.events e using (id)": (
        "id = coalesce(u.id, e.id), u = u.id"
    ),
    "select * except (name, age, region) from models.users u full join seeds.countries c using (country)": (
        "country = coalesce(u.country, c.country), id = u.id"
    ),
    "select struct(country) as s from models.users u full join seeds.countries c using (country)": (
        "s = struct(coalesce(u.country, c.country) as country)"
    ),
}

GROUPS = {
    "select type, count(*) as n from {} group by type": """
        select type = .type, n = .n
        keys type = events.type
        count n = count(*)""",
    "select upper(type) as t, count(*) as n from {} group by 1": """
        select t = .t, n = .n
        keys t = upper(events.type)
        count n = count(*)""",
    "select UPPER( Type ) as t, upper(events.type) || 'x' as u from {} group by upper(type)": """
        select t = .t, u = .t || 'x'
        keys t = upper(events.type)""",
    "select upper(type) as t, sum(value) as s from {} group by t": """
        select t = .t, s = .s
        keys t = upper(events.type)
        sum s = sum(events.value)!""",
    "select type, id, max(value) as m from {} group by all": """
        select type = .type, id = .id, m = .m
        keys type = events.type, id = events.id
        max m = max(events.value)""",
    "select count(*) as n from {}": """
        select n = .n
        keys
        count n = count(*)""",
    "select sum(value) / count(*) as mean, sum(Value) as total, sum(events.value) + 1 as more from {}": """
        select mean = .total / .mean_count!, total = .total, more = .total + 1
        keys
        sum total = sum(events.value)!
        count mean_count = count(*)""",
    "select sum(value) filter (where type = 'a' and id > 1) as s, sum(value) as t from {}": """
        select s = .s, t = .t
        keys
        sum s = sum(events.value)! if events.type = 'a' and events.id > 1
        sum t = sum(events.value)!""",
    "select last(value) ignore nulls as l, percentile_cont(0.5) within group (order by value) as p from {}": """
        select l = .l, p = .p
        keys
        last l = last(events.value) ignore nulls
        percentile_cont p = percentile_cont(0.5) within group (order by events.value)""",
    "select type as t from {} group by type having t = 'a' and count(*) > 1 and max(id) > 2": """
        select t = .t
        keys t = events.type
        count having_count = count(*)
        max having_max = max(events.id)
        having .t = 'a' & .having_count > 1 & .having_max > 2""",
    "select sum(id) * 2 as s from {} having s > 5": """
        select s = .s_sum * 2!
        keys
        sum s_sum = sum(events.id)!
        having (.s_sum * 2) > 5!""",
    "select upper(type) as type, type || 'x' as u from {} group by type having type = 'A'": """
        select type = upper(.type_2), u = .type_2 || 'x'
        keys type_2 = events.type
        having .type_2 = 'A'""",
    "select window.start as s, window.end as e, type from {} group by window(ts, '5 minutes'), type": """
        select s = .window.start, e = .window.end, type = .type
        keys window = window(events.ts, '5 minutes'), type = events.type""",
    "select window(ts, '1 hour') as w, window.start as s from {} group by window(ts, '1 hour')": """
        select w = .w, s = .w.start
        keys w = window(events.ts, '1 hour')""",
    "select window, count(*) as n from {} group by window(ts, '1 hour')": """
        select window = .window, n = .n
        keys window = window(events.ts, '1 hour')
        count n = count(*)""",
    "select session_window.start as s from {} group by session_window(ts, '1 hour'), type": """
        select s = .session_window.start
        keys session_window = session_window(events.ts, '1 hour'), type = events.type""",
    "select window.start as s from {} group by window(ts, '1 hour'), window.start, window.end": """
        select s = .window.start
        keys window = window(events.ts, '1 hour')""",
    "select meta.device as d, meta.device || 'x' as e from {} group by meta.device": """
        select d = .d, e = .d || 'x'
        keys d = events.meta.device""",
    "select meta.device as d from {} group by meta": """
        select d = .meta.device
        keys meta = events.meta""",
    "select id % 10 as a, id % 10 + 1 as b, 1 + (id % 10) as c from {} group by id % 10": """
        select a = .a, b = .a + 1!, c = 1 + (.a)!
        keys a = events.id % 10""",
    "select id + 1 as a, 2 * id + 1 as b, id + 1 > 5 as c from {} group by id + 1, id": """
        select a = .a, b = 2 * .id + 1!, c = .a > 5
        keys a = events.id + 1!, id = events.id""",
    "select case when id > 1 then 'x' end as k, case when id > 1 then 'x' end || 'y' as l from {} group by 1": """
        select k = .k, l = .k || 'y'
        keys k = case when events.id > 1 then 'x' end""",
    "select *, count(*) as n from (select id, type from {}) x group by id, type": """
        select id = .id, type = .type, n = .n
        keys id = x.id, type = x.type
        count n = count(*)""",
    "select sum(value) as s, s / count(*) as mean from {}": """
        select s = .s, mean = .s / .mean_count!
        keys
        sum s = sum(events.value)!
        count mean_count = count(*)""",
    "select 1 as k, 1 + id as a, cast(id as decimal(3, 1)) as d from {} group by k, id": """
        select k = .k, a = 1 + .id!, d = cast(.id as decimal(3, 1))!
        keys k = 1, id = events.id""",
    "select struct(upper(type), count(*), TYPE) as s from {} group by upper(type), type": """
        select s = struct(.key_1 as col1, .s_count as col2, .type as TYPE)
        keys key_1 = upper(events.type), type = events.type
        count s_count = count(*)""",
}

WHOLES = {
    "select id from {} order by id": "ORDER on a stream",
    "select id from {} limit 3": "LIMIT on a stream",
    "select id from {} distribute by id": "a distribution of rows",
    "select row_number() over (order by id) as r from {}": "a window function",
    "select id from {} group by cube(id)": "GROUP BY CUBE",
    "select id from {} intersect select id from models.users": "INTERSECT",
    "select id from {} as e where id in (select id from models.users as u where u.id = e.id)": (
        "a subquery that reads 'id' of the enclosing query"
    ),
    "with c as (select id from models.users) select id from {} where id in (select id from c)": (
        "a subquery that reads a CTE"
    ),
    "select (select max(age) from models.users u where u.id = e.id) as m from {} e": "reads 'id' of the enclosing query",
    "with u as (select id from models.users) select (select max(id) from u) as m from {}": "reads a CTE",
    "select a from values (1), (2) as t(a)": "VALUES",
    "select id from {} tablesample (10 percent)": "TABLESAMPLE",
    "select e.id from {} e join (models.users u join seeds.countries using (country)) on e.id = u.id": "a join within",
    "select b.id from {} a, models.users b right join models.users c on b.id = c.id": "a RIGHT JOIN after",
    "select * from models.free": "which has unknown columns",
    "from {} select id": "FROM before SELECT",
    "select explode(split(tags[0], ',')) as t from {} where size(tags) > 0": "a generator that can fail",
    "select id from {} watermark cast(id as timestamp) as t delay of interval 1 hour": "that defines a column",
    "select upper((type)) as t from {} group by upper(type)": "a group key that is written differently",
    "select count(*) as n from {} group by (id, type)": "GROUP BY with a tuple of columns",
}


def _lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize("sql", ITEMS)
def test_items(sql):
    assert query(sql) == _lines(ITEMS[sql])


@pytest.mark.parametrize("written", CONDITIONS)
def test_a_condition_is_split_where_all_of_it_must_hold(written):
    assert query(f"select id from sources.shop.events where {written}") == _lines(
        f"select id = events.id\n{E}\nwhere {CONDITIONS[written]}"
    )


@pytest.mark.parametrize("written", JOINS)
def test_relations_as_they_are_written(written):
    relations = query(f"select 1 as one from {written}").partition("\n")[2]
    assert relations == _lines(JOINS[written])


@pytest.mark.parametrize("sql", MERGED)
def test_a_column_of_using_is_that_of_the_side_that_is_kept(sql):
    assert query(sql).splitlines()[0].removeprefix("select ") == MERGED[sql]


@pytest.mark.parametrize("sql", GROUPS)
def test_a_grouped_select_is_keys_measures_and_what_is_done_with_them(sql):
    lines = query(sql.format("sources.shop.events")).splitlines()
    assert "\n".join(line for line in lines if not line.startswith("from")) == _lines(GROUPS[sql])


@pytest.mark.parametrize("sql", WHOLES)
def test_what_can_not_be_taken_apart_stays_whole_and_says_why(sql):
    text = query(sql.format("sources.shop.events"))
    assert text.startswith("whole: ")
    assert WHOLES[sql] in text


UNIONS = {
    "select id from models.users union all select age from models.users": f"""
        union(select id = users.id
        {U} | select age = users.age
        {U})""",
    "select 1 as a union all select 2 union all select 3": (
        "union(select a = 1 | select col_1 = 2 | select col_1 = 3)"
    ),
    "select 1 as a union select 2 union all select 2": (
        "union(union distinct(select a = 1 | select col_1 = 2) | select col_1 = 2)"
    ),
    "select 1 as a, 2 as b union all by name select 3 as b, 4 as a": (
        "union(select a = 1, b = 2 | select a = 4, b = 3)"
    ),
    "select 1 as a, 2 as b union all by name (select 3 as b, 4 as a union select 5 as x, 6 as y)": """
        union(select a = 1, b = 2 | select a = side.a, b = side.b
        from side = (union distinct(select b = 3, a = 4 | select x = 5, y = 6)))""",
}


@pytest.mark.parametrize("sql", UNIONS)
def test_unions(sql):
    assert query(sql) == _lines(UNIONS[sql])


def test_a_union_knows_what_its_columns_become():
    parsed = analysis("select id from models.users union all select age from models.users").query
    assert parsed is not None
    assert isinstance(parsed.body, SqlUnion)
    assert parsed.body.types == (BIGINT,)


def test_sides_of_another_type_than_the_whole_stay_a_union_of_their_own():
    # 'int, then bigint' is not always the same as 'bigint': texts, for one, are cast step by step.
    sql = "select age as a from models.users union all select age from models.users union all select id from models.users"
    parsed = analysis(sql).query
    assert parsed is not None
    assert isinstance(parsed.body, SqlUnion)
    inner = parsed.body.sides[0]
    assert isinstance(inner, SqlUnion)
    assert (inner.types, parsed.body.types) == ((INT,), (BIGINT,))


CTES = {
    "with a as (select id from models.users), b as (select id from a) select id from b": """
        with a = select id = users.id
        from users = {model.users}
        with b = select id = a.id
        from a = a
        select id = b.id
        from b = b""",
    "with a as (select 1 as x) select x from (with a as (select 2 as x) select x from a) b, (select x as y from a) c": """
        with a = select x = 1
        with a_2 = select x = 2
        select x = b.x
        from b = (select x = a.x / from a = a_2)
        cross c = (select y = a.x / from a = a)""",
    "with a as (select 1 as x), unread as (select id from models.users) select x from a": """
        with a = select x = 1
        select x = a.x
        from a = a""",
    "with a (y, x) as (select 1 as x, 2 as y) select x, y from a": """
        with a = select x = 1, y = 2
        select x = a.x, y = a.y
        from a = (select y = a.x, x = a.y / from a = a)""",
}


@pytest.mark.parametrize("sql", CTES)
def test_ctes_have_names_of_their_own(sql):
    assert query(sql) == _lines(CTES[sql])


def test_a_generator_of_the_select_list_is_a_relation():
    assert query(
        "select id, explode(tags) as tag, posexplode(tags) as (p, t) from sources.shop.events"
    ) == _lines(
        f"""select id = events.id, tag = explode.tag, p = posexplode.p, t = posexplode.t
        {E}
        from explode = rows of explode(events.tags): tag
        from posexplode = rows of posexplode(events.tags): p, t"""
    )


def test_two_relations_of_one_name_are_told_apart():
    parsed = select("select 1 as one from models.users join seeds.countries as users on true")
    assert [relation.alias for relation in parsed.relations] == ["users", "users_2"]


def test_relations_know_all_their_columns_also_hidden_and_taken_ones():
    assert "_offset" in select("select id from sources.shop.events").relations[0].columns
    assert select("select id, other from models.free").relations[0].columns == ("id", "other")


def test_hints_are_kept_aside():
    sql = "select /*+ broadcast(u) */ e.id from sources.shop.events e join models.users u on u.id = e.id"
    assert select(sql).hints == ("broadcast(u)",)


def test_a_select_knows_where_it_stands():
    sql = "select id from (select id from models.users where id > 1) x"
    outer = select(sql)
    inner = outer.relations[0].input
    assert isinstance(inner, DerivedTable)
    assert sql[inner.query.start : inner.query.stop] == "select id from models.users where id > 1"
    assert sql[outer.start : outer.stop] == sql


def test_a_query_with_a_mistake_says_nothing():
    assert analysis("select nothing from models.users").query is None


def test_a_query_survives_the_cache():
    sql = (
        "with u as (select * from models.users) select type, sum(value) filter (where id > 1) as s, "
        "max(w.n) as m from sources.shop.events join u using (id), lateral split_up(type) w "
        "group by type union all select 'x', 1, (select 2)"
    )
    analyzed = analysis(sql)
    assert analyzed.query is not None
    assert from_msgpack(to_msgpack(analyzed), Analysis) == analyzed


def test_whole_sql_reads_relations_under_other_names():
    sql = """select models.users.id, /* a */ users.name
      from models.users tablesample (10 percent) order by models.users.id"""
    parsed = analysis(sql).query
    assert parsed is not None
    assert as_text(parsed).startswith("whole")
    text = "".join(p if isinstance(p, str) else "relation" for p in parsed.body.pieces)
    assert text == (
        "select users.id, users.name from relation tablesample (10 percent) as users order by users.id"
    )
