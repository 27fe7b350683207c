import pytest
from shop import analysis, influences

E = "from sources.shop.events"


def of(sql: str, name: str) -> str:
    return influences(sql)[name]


def test_a_column_as_it_is_is_direct():
    assert of(f"select id as k {E}", "k") == "e.id:direct"


def test_an_expression_is_computed():
    assert of(f"select value * price as p {E}", "p") == "e.price:computed e.value:computed"


def test_a_literal_comes_from_nowhere():
    assert of(f"select 1 as one {E}", "one") == ""


def test_a_cast_to_the_same_type_is_direct():
    assert of(f"select cast(id as bigint) as k {E}", "k") == "e.id:direct"


def test_a_field_of_a_struct_is_computed():
    assert of(f"select meta.os as os {E}", "os") == "e.meta:computed"


def test_conditions_of_case_count():
    assert (
        of(f"select case when type = 'a' then value end as x {E}", "x") == "e.type:computed e.value:computed"
    )


def test_a_lambda_sees_elements_and_columns():
    assert of(f"select transform(tags, t -> t || type) as x {E}", "x") == "e.tags:computed e.type:computed"


def test_a_subquery_in_between_keeps_direct():
    assert of(f"select k from (select id as k {E}) t", "k") == "e.id:direct"


def test_a_cte_in_between_keeps_computed():
    assert of(f"with t as (select id + 1 as k {E}) select k as j from t", "j") == "e.id:computed"


def test_where_filters_rows():
    assert influences(f"select id {E} where type = 'a' and value > 1") == {
        "id": "e.id:direct",
        "*": "e.type:filter e.value:filter",
    }


def test_having_filters_rows():
    assert of(f"select type {E} group by type having sum(value) > 1", "*") == "e.type:group e.value:filter"


def test_group_keys_decide_rows():
    assert (
        of(f"select count(*) as n {E} group by type, date_trunc('day', ts)", "*") == "e.ts:group e.type:group"
    )


def test_an_aggregate_computes():
    assert of(f"select sum(value) as s {E}", "s") == "e.value:computed"


def test_the_filter_of_an_aggregate_filters_its_column():
    assert (
        of(f"select sum(value) filter (where type = 'a') as s {E}", "s") == "e.type:filter e.value:computed"
    )


def test_a_join_decides_rows():
    assert (
        of(f"select e.id {E} e join models.users u on e.id = u.id and u.age > 1", "*")
        == "e.id:join u.age:join u.id:join"
    )


def test_using_decides_rows():
    assert influences("select country from models.users join seeds.countries using (country)") == {
        "country": "u.country:direct",
        "*": "c.country:join u.country:join",
    }


def test_using_of_a_full_join_is_computed_of_both():
    sql = "select country from models.users full join seeds.countries using (country)"
    assert of(sql, "country") == "c.country:computed u.country:computed"


def test_order_by_orders_rows():
    assert of(f"select id {E} order by ts, 1", "*") == "e.id:order e.ts:order"


def test_order_by_an_alias():
    assert of(f"select value + 1 as v2 {E} order by v2", "*") == "e.value:order"


def test_distinct_groups_rows():
    assert of(f"select distinct type, user_id {E}", "*") == "e.type:group e.user_id:group"


def test_a_union_has_both_sources():
    assert of(f"select id {E} union all select id from models.users", "id") == "e.id:direct u.id:direct"


def test_a_union_distinct_groups_rows():
    assert of(f"select id {E} union select id from models.users", "*") == "e.id:group u.id:group"


def test_a_window_function_partitions_and_orders_its_column():
    sql = f"select sum(value) over (partition by type order by ts) as s {E}"
    assert of(sql, "s") == "e.ts:order e.type:group e.value:computed"


def test_a_scalar_subquery_computes_and_filters():
    sql = f"select (select max(age) from models.users where country = 'x') as a {E}"
    assert of(sql, "a") == "u.age:computed u.country:filter"


def test_exists_filters():
    sql = f"select id {E} e where exists (select 1 from models.users u where u.id = e.id)"
    assert of(sql, "*") == "e.id:filter u.id:filter"


def test_in_with_a_subquery_filters():
    assert of(f"select id {E} where id in (select id from models.users)", "*") == "e.id:filter u.id:filter"


def test_lateral_view_decides_rows():
    assert influences(f"select id, tag {E} lateral view explode(tags) t as tag") == {
        "id": "e.id:direct",
        "tag": "e.tags:computed",
        "*": "e.tags:join",
    }


def test_rows_of_a_subquery_count():
    assert (
        of(f"select id from (select id {E} where value > 1) t where id > 2", "*")
        == "e.id:filter e.value:filter"
    )


def test_a_python_function_computes():
    assert of(f"select score(type, value) as s {E}", "s") == "e.type:computed e.value:computed"


def test_an_open_relation_is_a_source_of_any_column():
    assert of("select other + 1 as x from models.free", "x") == "f.other:computed"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (f"select id {E} order by ts", "ORDER on a stream"),
        (f"select id {E} limit 3", "LIMIT on a stream"),
        (f"select row_number() over (order by ts) as r {E}", "a window function"),
        (f"select id {E} intersect select id from models.users", "INTERSECT"),
        (f"select id {E} except select id from models.users", "EXCEPT"),
        (f"select id {E} tablesample (10 percent)", "TABLESAMPLE"),
        (f"select type, count(*) as n {E} group by cube(type)", "GROUP BY CUBE"),
        (
            f"select u.a {E} e, lateral (select age as a from models.users u where u.id = e.id) u",
            "a LATERAL subquery",
        ),
        (
            "with recursive r as (select 1 as n union all select n + 1 from r) select n from r",
            "a recursive CTE",
        ),
    ],
)
def test_what_is_opaque(sql, reason):
    analyzed = analysis(sql)
    assert not analyzed.diagnostics
    assert reason in analyzed.opaque[0]


def test_a_plain_model_is_not_opaque():
    sql = f"select type, window(ts, '5 minutes') as w, sum(value) as s {E} where id > 1 group by 1, 2"
    assert analysis(sql).opaque == ()
