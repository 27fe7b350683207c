from shop import analysis, columns


def test_a_star_leaves_metadata_out():
    assert "_offset" not in columns("select * from sources.shop.events")


def test_metadata_is_there_by_name():
    assert columns("select _offset from sources.shop.events") == "_offset bigint"


def test_an_alias_takes_the_place_of_the_name():
    assert columns("select u.id from models.users as u") == "id bigint!"


def test_a_relation_is_known_by_its_whole_name():
    assert (
        columns("select models.users.id, shop.events.type from models.users, sources.shop.events")
        == "id bigint!, type string"
    )


def test_columns_get_the_names_of_an_alias():
    assert (
        columns("select a, t.b from (select id, name from models.users) as t(a, b)") == "a bigint!, b string"
    )


def test_a_left_join_makes_the_right_side_nullable():
    sql = "select e.id, u.id as u from sources.shop.events e left join models.users u on e.id = u.id"
    assert columns(sql) == "id bigint!, u bigint"


def test_a_right_join_makes_the_left_side_nullable():
    sql = "select e.id, u.id as u from sources.shop.events e right join models.users u on e.id = u.id"
    assert columns(sql) == "id bigint, u bigint!"


def test_a_full_join_makes_both_sides_nullable():
    sql = "select e.id, u.id as u from sources.shop.events e full join models.users u on e.id = u.id"
    assert columns(sql) == "id bigint, u bigint"


def test_using_gives_one_column_first():
    sql = "select * from models.users join seeds.countries using (country)"
    assert columns(sql) == "country string, id bigint!, name string, age int, region string"


def test_using_after_a_full_join_can_be_null():
    sql = (
        "select id from (select id from models.users) a full join (select id from models.users) b using (id)"
    )
    assert columns(sql) == "id bigint"


def test_a_natural_join_uses_what_both_have():
    sql = "select * from models.users natural join seeds.countries"
    assert columns(sql) == "country string, id bigint!, name string, age int, region string"


def test_a_semi_join_keeps_the_left_columns():
    sql = "select * from seeds.countries c left semi join models.users u on u.country = c.country"
    assert columns(sql) == "country string, region string"


def test_an_anti_join_hides_the_right_side():
    sql = "select u.id from seeds.countries c left anti join models.users u on u.country = c.country"
    assert [diagnostic.code for diagnostic in analysis(sql).diagnostics] == ["MS402"]


def test_a_parenthesised_join():
    sql = "select e.id, u.name from sources.shop.events e left join (models.users u join seeds.countries c using (country)) on e.id = u.id"
    assert columns(sql) == "id bigint!, name string"


def test_a_cte_hides_a_model():
    assert columns("with users as (select id as k from models.users) select * from users") == "k bigint!"


def test_a_cte_in_a_cte_hides_the_outer_one():
    sql = "with a as (select 1 as x) select * from (with a as (select 'y' as z) select * from a) t, a"
    assert columns(sql) == "z string!, x int!"


def test_a_union_widens():
    sql = "select id, 1 as n from models.users union all select age, 2.5 from models.users"
    assert columns(sql) == "id bigint, n decimal(11,1)!"


def test_a_union_by_name():
    sql = "select id, name from models.users union all by name select name, id from models.users"
    assert columns(sql) == "id bigint!, name string"


def test_intersect_keeps_what_is_on_both_sides():
    assert columns("select age from models.users intersect select id from models.users") == "age bigint!"


def test_except_keeps_the_left_side():
    assert columns("select id from models.users except select age from models.users") == "id bigint!"


def test_values():
    assert columns("select * from (values (1, 'a'), (2L, null)) as t(n, s)") == "n bigint!, s string"


def test_values_without_names():
    assert columns("values (1, 'a')") == "col1 int!, col2 string!"


def test_star_except():
    assert columns("select * except (name, age) from models.users") == "id bigint!, country string"


def test_the_fields_of_a_struct():
    assert columns("select meta.* from sources.shop.events") == "device string, os string"


def test_explode_in_the_select():
    assert columns("select id, explode(tags) as tag from sources.shop.events") == "id bigint!, tag string"


def test_explode_of_a_map():
    assert columns("select explode(labels) from sources.shop.events") == "key string!, value int"


def test_posexplode_outer():
    assert columns("select posexplode_outer(tags) as (i, t) from sources.shop.events") == "i int, t string"


def test_lateral_view():
    sql = "select id, t.tag from sources.shop.events lateral view explode(tags) t as tag"
    assert columns(sql) == "id bigint!, tag string"


def test_a_python_function_that_makes_rows():
    sql = "select id, w.word, n from sources.shop.events, lateral split_up(type) as w"
    assert columns(sql) == "id bigint!, word string, n int"


def test_a_correlated_subquery():
    sql = (
        "select id, (select max(age) from models.users u where u.id = e.id) as age from sources.shop.events e"
    )
    assert columns(sql) == "id bigint!, age int"


def test_grouping_sets_can_leave_keys_null():
    assert (
        columns("select id, count(*) as n from models.users group by cube(id, name)")
        == "id bigint, n bigint!"
    )


def test_an_open_relation_has_any_column():
    analyzed = analysis("select id, other, f.more from models.free f")
    assert not analyzed.diagnostics
    assert [str(column.type) for column in analyzed.columns] == ["bigint", "unknown", "unknown"]


def test_a_star_over_an_open_relation_is_open():
    assert analysis("select * from models.free").open


def test_named_columns_of_an_open_relation_are_all():
    assert not analysis("select id from models.free").open


def test_a_watermark_belongs_to_its_relation():
    sql = "select id from sources.shop.events watermark ts delay of interval 10 seconds as e"
    (watermark,) = analysis(sql).watermarks
    assert (watermark.relation, watermark.expression, watermark.delay) == (
        "events",
        "ts",
        "interval 10 seconds",
    )


def test_stream_is_a_word_of_the_syntax():
    assert columns("select id from stream sources.shop.events") == "id bigint!"


def test_functions_of_the_project_are_noted():
    assert analysis("select score(type) as s, upper(type) as u from sources.shop.events").functions == (
        "score",
    )
