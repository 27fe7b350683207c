"""dbt's selector grammar on the command line and in selectors.yml."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.compile.graph import Graph, GraphNode, build_graph
from millstream.compile.selectors import SelectionContext, check_selectors, select_nodes
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import Location


def model(name, *parents, folder="", tags=(), **config):
    parts = tuple(folder.split("/")) if folder else ()
    path = "/".join(("models", *parts, f"{name}.sql"))
    return GraphNode(
        id=NodeId("model", name),
        kind="model",
        name=name,
        path=path,
        fqn=("shop", *parts, name),
        tags=tags,
        config=config,
        depends_on=parents,
    )


def check(name, *parents, kind="test", generic="", **config):
    node = model(name, *parents, **config)
    return GraphNode(
        id=NodeId.parse(f"{kind}.{name}"),
        kind=kind,
        name=name,
        path=node.path,
        fqn=node.fqn,
        depends_on=parents,
        config=config,
        test=generic,
    )


def other(kind, id_, name, *parents, path="models/shop.yml"):
    return GraphNode(
        id=NodeId.parse(id_), kind=kind, name=name, path=path, fqn=("shop", name), depends_on=parents
    )


NODES = (
    other("source", "source.shop.events", "events"),
    other("source", "source.shop.orders.v1", "orders.v1"),
    other("source", "source.crm.users", "users"),
    other("seed", "seed.countries", "countries", path="seeds/countries.csv"),
    model("stg_events", "source.shop.events", folder="staging", tags=("nightly", "pii"), materialized="view"),
    model(
        "stg_users", "source.crm.users", folder="staging/crm", meta={"owner": "ann", "levels": [1, "gold"]}
    ),
    model("sessions", "model.stg_events", tags=("nightly",), materialized="table", enabled=True),
    model("profile", "model.stg_users", "model.sessions", "seed.countries", folder="marts"),
    model("report", "model.profile", folder="marts", producer={"linger.ms": 100}),
    check("not_null_profile_id", "model.profile", generic="not_null", severity="WARN"),
    check("no_orphans", "model.profile", "model.sessions"),
    check("counts_sessions", "model.sessions", kind="unit_test"),
    other("exposure", "exposure.dashboard", "dashboard", "model.report"),
    other("metric", "metric.revenue", "revenue", "model.report"),
)
GRAPH = build_graph({node.id: node for node in NODES})


def short(ids):
    """Name models without their kind."""
    return {id_.removeprefix("model.") for id_ in ids}


def chosen(*terms, exclude=(), tests=False, selectors=None, selector=None, context=None):
    selection = select_nodes(
        GRAPH,
        terms,
        exclude,
        selectors or {},
        selector,
        context or SelectionContext(),
        with_tests=tests,
    )
    return short(selection.ids)


def mistakes(*terms, **options) -> tuple[Diagnostic, ...]:
    with pytest.raises(MillstreamError) as caught:
        chosen(*terms, **options)
    return caught.value.diagnostics


def warnings(*terms, **options) -> tuple[Diagnostic, ...]:
    return select_nodes(GRAPH, terms, **options).diagnostics


MARTS = {"profile", "report"}
STAGING = {"stg_events", "stg_users"}
PROFILE_TESTS = {"test.not_null_profile_id", "test.no_orphans"}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("sessions", {"sessions"}),
        ("fqn:sessions", {"sessions"}),
        ("shop.marts", MARTS),
        ("marts", MARTS),
        ("marts.report", {"report"}),
        ("staging.crm", {"stg_users"}),
        ("staging.*", STAGING),
        ("stg_*", STAGING),
        ("stg_[a-e]*", {"stg_events"}),
        ("?eport", {"report"}),
        ("shop.marts.pro*", {"profile"}),
        ("countries", {"seed.countries"}),
        ("counts_sessions", {"unit_test.counts_sessions"}),
        ("tag:nightly", {"stg_events", "sessions"}),
        ("tag:p*", {"stg_events"}),
        ("path:models/staging", STAGING),
        ("models/staging", STAGING),
        ("models/staging/", STAGING),
        ("./models/staging", STAGING),
        ("models\\staging", STAGING),
        ("models/staging/*.sql", {"stg_events"}),
        ("models/**/stg_*.sql", STAGING),
        ("models/**/crm", {"stg_users"}),
        ("models/staging/crm/stg_users.sql", {"stg_users"}),
        ("path:seeds", {"seed.countries"}),
        ("report.sql", {"report"}),
        ("file:report.sql", {"report"}),
        ("file:report", {"report"}),
        ("source:shop", {"source.shop.events", "source.shop.orders.v1"}),
        ("source:shop.events", {"source.shop.events"}),
        ("source:shop.orders.v1", {"source.shop.orders.v1"}),
        ("source:shop.crm.users", {"source.crm.users"}),
        ("source:*.users", {"source.crm.users"}),
        ("exposure:dashboard", {"exposure.dashboard"}),
        ("exposure:shop.dash*", {"exposure.dashboard"}),
        ("metric:*", {"metric.revenue"}),
        ("unit_test:*", {"unit_test.counts_sessions"}),
        ("config.materialized:table", {"sessions"}),
        ("config.enabled:true", {"sessions"}),
        ("config.enabled:True", {"sessions"}),
        ("config.meta.owner:ann", {"stg_users"}),
        ("config.meta.levels:gold", {"stg_users"}),
        ("config.meta.levels:1", {"stg_users"}),
        ("config.meta:owner", {"stg_users"}),
        ("config.producer.linger.ms:100", {"report"}),
        ("config.severity:warn", {"test.not_null_profile_id"}),
        ("resource_type:seed", {"seed.countries"}),
        ("resource_type:unit_test", {"unit_test.counts_sessions"}),
        ("test_name:not_*", {"test.not_null_profile_id"}),
        ("test_type:generic", {"test.not_null_profile_id"}),
        ("test_type:singular", {"test.no_orphans"}),
        ("test_type:data", PROFILE_TESTS),
        ("test_type:unit", {"unit_test.counts_sessions"}),
    ],
)
def test_methods(term, expected):
    assert chosen(term) == expected


@pytest.mark.parametrize("term", ["package:shop", "package:this", "package:s*p"])
def test_package_selects_the_project(term):
    assert chosen(term) == short(GRAPH.order)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("1+profile", {"profile", "sessions", "stg_users", "seed.countries"}),
        ("+sessions", {"sessions", "stg_events", "source.shop.events"}),
        ("report+", {"report", "exposure.dashboard", "metric.revenue"}),
        ("stg_users+1", {"stg_users", "profile"}),
        (
            "1+sessions+1",
            {"stg_events", "sessions", "profile", "test.no_orphans", "unit_test.counts_sessions"},
        ),
        ("0+sessions", {"sessions"}),
        ("source:crm.users+2", {"source.crm.users", "stg_users", "profile"}),
        ("+exposure:dashboard,marts", MARTS),
        ("2+exposure:dashboard", {"exposure.dashboard", *MARTS}),
    ],
)
def test_graph_operators(term, expected):
    assert chosen(term) == expected


def test_at_takes_descendants_and_all_their_ancestors():
    assert chosen("@stg_users") == short(GRAPH.order) - {"source.shop.orders.v1", "unit_test.counts_sessions"}


def test_blanks_and_repeated_options_are_unions():
    assert chosen("sessions report") == chosen("sessions", "report") == {"sessions", "report"}


def test_commas_are_intersections_within_a_union():
    assert chosen("tag:nightly,tag:pii report") == {"stg_events", "report"}


def test_exclude_is_subtracted():
    assert chosen("tag:nightly", exclude=["tag:pii", "report"]) == {"sessions"}


def test_exclude_alone_is_subtracted_from_everything():
    assert chosen(exclude=["package:*"]) == set()


def test_nothing_asked_selects_everything_in_topological_order():
    assert select_nodes(GRAPH).ids == GRAPH.order


def test_ids_are_in_topological_order():
    assert select_nodes(GRAPH, ["report", "+sessions"]).ids == (
        "source.shop.events",
        "model.stg_events",
        "model.sessions",
        "model.report",
    )


def test_tests_come_with_what_they_test_when_asked():
    assert chosen("profile", tests=True) == {"profile", *PROFILE_TESTS}


def test_an_excluded_model_takes_its_tests_along():
    assert chosen("profile", exclude=["sessions"], tests=True) == {"profile", "test.not_null_profile_id"}


def test_the_tests_of_a_model_are_an_intersection_with_their_type():
    assert chosen("profile,test_type:generic", tests=True) == {"test.not_null_profile_id"}


@pytest.mark.parametrize(
    ("term", "code", "column", "end", "help_"),
    [
        ("tag:", "MS601", 1, 5, "write what to select"),
        ("+", "MS601", 1, 2, "write what to select"),
        ("a tag:x,", "MS601", 8, 9, "without spaces"),
        (",a", "MS601", 1, 2, "without spaces"),
        ("@sessions+", "MS601", 10, 11, "remove the '+'"),
        ("ab+cd", "MS601", 3, 4, "before or after"),
        ("report tags:x", "MS602", 8, 12, "did you mean 'tag'?"),
        ("config:view", "MS601", 1, 7, "config.materialized:view"),
        ("tag.x:view", "MS601", 1, 6, "write 'tag:view'"),
        ("resource_type:modl", "MS605", 15, 19, "did you mean 'model'?"),
        ("test_type:x", "MS605", 11, 12, "generic, singular"),
        ("1+selector:x", "MS604", 3, 13, "selectors.yml"),
    ],
)
def test_mistakes_are_located_in_the_selector(term, code, column, end, help_):
    (diagnostic,) = mistakes(term)
    assert (diagnostic.code, diagnostic.location) == (code, Location("--select", 1, column, end))
    assert diagnostic.line == term
    assert help_ in diagnostic.help


def test_an_empty_selector_is_refused():
    assert [diagnostic.code for diagnostic in mistakes("")] == ["MS601"]


def test_all_mistakes_are_collected():
    diagnostics = mistakes("tags:x a,,b", exclude=["@c+"])
    assert [(one.code, str(one.location)) for one in diagnostics] == [
        ("MS602", "--select:1:1"),
        ("MS601", "--select:1:9"),
        ("MS601", "--exclude:1:3"),
    ]


@pytest.mark.parametrize(
    ("term", "help_"),
    [
        ("sesions+", "did you mean 'sessions+'?"),
        ("stagng", "did you mean 'staging'?"),
        ("events", "did you mean 'source:shop.events'?"),
        ("dashboard", "did you mean 'exposure:dashboard'?"),
        ("nightly", "did you mean 'tag:nightly'?"),
        ("tag:nightli", "did you mean 'tag:nightly'?"),
        ("models/stagin", "did you mean 'models/staging'?"),
        ("source:shop.event", "did you mean 'source:shop.events'?"),
        ("config.materialized:tabel", "did you mean 'config.materialized:table'?"),
        ("config.materialised:table", "no node has the setting 'materialised'"),
        ("path:models/*/x*", "`millstream ls` lists all nodes"),
        ("zzzzzz", "`millstream ls` lists all nodes"),
    ],
)
def test_what_selects_nothing_is_a_warning_with_a_guess(term, help_):
    (diagnostic,) = warnings(term)
    assert (diagnostic.code, diagnostic.severity, diagnostic.help) == ("MS603", "warning", help_)


def test_the_warning_points_at_the_criterion_that_is_empty():
    (diagnostic,) = warnings("report tag:nightly,path:nowhere+")
    assert diagnostic.location == Location("--select", 1, 20, 32)


def test_an_empty_intersection_is_a_warning():
    (diagnostic,) = warnings("report,sessions")
    assert diagnostic.message == "'report,sessions' selects nothing: no node satisfies all of its parts"


def test_what_excludes_nothing_is_a_warning():
    (diagnostic,) = warnings("report", exclude=["sesions"])
    assert diagnostic.location == Location("--exclude", 1, 1, 8)


def test_state_and_result_need_data():
    diagnostics = mistakes("state:modified+ result:error")
    assert [one.code for one in diagnostics] == ["MS606", "MS606"]
    assert "an earlier version" in diagnostics[0].message


def test_state_and_result_ask_the_context():
    context = SelectionContext(
        state=lambda value: (
            {NodeId("model", "profile"), NodeId("model", "gone")} if value == "modified" else set()
        ),
        result=lambda value: [NodeId("model", "sessions")] if value == "error" else [],
    )
    assert chosen("state:modified+1 result:error", context=context) == {*MARTS, *PROFILE_TESTS, "sessions"}


def yaml(definition, **more):
    return chosen(selector="s", selectors={"s": definition, **more})


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("tag:nightly,tag:pii report", {"stg_events", "report"}),
        ({"tag": "pii"}, {"stg_events"}),
        ({"config.enabled": True}, {"sessions"}),
        ({"method": "config.meta.levels", "value": 1}, {"stg_users"}),
        ({"definition": {"tag": "pii"}, "description": "Personal data", "name": "s"}, {"stg_events"}),
        ({"method": "fqn", "value": "report", "parents": True, "parents_depth": 1}, MARTS),
        (
            {"method": "fqn", "value": "stg_users", "children": True, "children_depth": 1},
            {"stg_users", "profile"},
        ),
        ({"union": ["report", {"tag": "pii"}]}, {"report", "stg_events"}),
        ({"intersection": ["tag:nightly", {"method": "tag", "value": "pii"}]}, {"stg_events"}),
        ({"union": ["marts", "tag:nightly", {"exclude": ["report", "tag:pii"]}]}, {"profile", "sessions"}),
        ({"intersection": [{"union": ["marts", "sessions"]}, {"exclude": ["marts"]}]}, {"sessions"}),
        ({"method": "tag", "value": "nightly", "exclude": [{"tag": "pii"}]}, {"sessions"}),
    ],
)
def test_yaml_definitions(definition, expected):
    assert yaml(definition) == expected


def test_yaml_childrens_parents_is_at():
    assert yaml({"method": "fqn", "value": "stg_users", "childrens_parents": True}) == chosen("@stg_users")


def test_yaml_selectors_refer_to_others_in_any_order():
    assert yaml({"union": [{"method": "selector", "value": "t"}, "report"]}, t="tag:pii") == {
        "stg_events",
        "report",
    }


def test_a_reference_can_be_followed_in_the_graph():
    assert chosen("selector:t+1", selectors={"t": "stg_users"}) == {"stg_users", "profile"}


def test_a_long_chain_of_references_does_not_recurse():
    chain = {f"s{i}": f"selector:s{i + 1}" for i in range(3000)}
    assert chosen(selector="s0", selectors={**chain, "s3000": "report"}) == {"report"}


def test_the_default_selector_applies_when_nothing_is_asked():
    selectors = {"s": {"definition": "report", "default": True}, "t": "sessions"}
    assert chosen(selectors=selectors) == {"report"}
    assert chosen("sessions", selectors=selectors) == {"sessions"}
    assert "sessions" in chosen(exclude=["report"], selectors=selectors)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("eager", {"test.not_null_profile_id", "test.no_orphans"}),
        ("cautious", {"test.not_null_profile_id"}),
        ("buildable", {"test.not_null_profile_id", "test.no_orphans"}),
        ("empty", set()),
    ],
)
def test_indirect_selection(mode, expected):
    selectors = {"s": {"method": "fqn", "value": "profile", "indirect_selection": mode}}
    assert chosen(selector="s", selectors=selectors, tests=True) == {"profile", *expected}


def test_a_cautious_test_joins_when_a_union_brings_its_other_parent():
    cautious = [
        {"method": "fqn", "value": v, "indirect_selection": "cautious"} for v in ("profile", "sessions")
    ]
    nodes = chosen(selector="s", selectors={"s": {"union": cautious}}, tests=True)
    assert "test.no_orphans" in nodes


def test_a_buildable_test_may_read_any_source():
    nodes = (other("source", "source.s.t", "t"), model("a"), check("both", "model.a", "source.s.t"))
    graph = build_graph({node.id: node for node in nodes})
    for mode, tests in (("buildable", {"test.both"}), ("cautious", set())):
        selectors = {"s": {"method": "fqn", "value": "a", "indirect_selection": mode}}
        assert short(select_nodes(graph, selectors=selectors, selector="s", with_tests=True).ids) == {
            "a",
            *tests,
        }


def test_operators_on_a_selector_bring_only_their_own_tests():
    cautious = {"method": "fqn", "value": "report", "indirect_selection": "cautious"}
    assert chosen("1+selector:s", selectors={"s": cautious}, tests=True) == {*MARTS, *PROFILE_TESTS}


def test_a_selector_that_excludes_all_it_selects_is_a_warning():
    emptied = {"union": ["report", {"exclude": ["marts"]}]}
    (diagnostic,) = warnings("selector:s", selectors={"s": emptied})
    assert diagnostic.message == "'selector:s' selects nothing"


def test_yaml_brings_no_tests_unless_the_caller_asks():
    assert yaml({"method": "fqn", "value": "profile", "indirect_selection": "eager"}) == {"profile"}


@pytest.mark.parametrize(
    ("definition", "code", "path", "words"),
    [
        ({"method": "tagg", "value": "x"}, "MS602", ("s", "method"), "did you mean 'tag'?"),
        ({"tagg": "x"}, "MS602", ("s", "tagg"), "did you mean 'tag'?"),
        ({"method": "tag", "value": "x", "child": True}, "MS607", ("s", "child"), "did you mean 'children'?"),
        ({"method": "tag"}, "MS607", ("s",), "'value'"),
        ({"method": "tag", "value": ["x"]}, "MS607", ("s", "value"), "a list"),
        ({"method": "tag", "value": "x", "children": "yes"}, "MS607", ("s", "children"), "true or false"),
        ({"method": "tag", "value": "x", "parents_depth": -1}, "MS607", ("s", "parents_depth"), "-1"),
        (
            {"method": "tag", "value": "x", "indirect_selection": "eagre"},
            "MS607",
            ("s", "indirect_selection"),
            "did you mean 'eager'?",
        ),
        (
            {"method": "tag", "value": "x", "children": True, "childrens_parents": True},
            "MS607",
            ("s", "children"),
            "remove 'children'",
        ),
        ({"union": "x"}, "MS607", ("s", "union"), "must be a list"),
        ({"union": [{"exclude": ["x"]}]}, "MS607", ("s", "union"), "is empty"),
        ({"union": ["a", {"exclude": ["x"]}, {"exclude": ["y"]}]}, "MS607", ("s", "union", 2), "second"),
        ({"union": ["a"], "intersection": ["b"]}, "MS607", ("s", "intersection"), "unknown key"),
        ({"union": ["a", None]}, "MS607", ("s", "union", 1), "empty"),
        (None, "MS607", ("s",), "empty"),
        ({"definition": "a", "defualt": True}, "MS607", ("s", "defualt"), "did you mean 'default'?"),
        ({"union": ["a", {"selector": "nn"}]}, "MS604", ("s", "union", 1, "selector"), "known selectors: s"),
        ({"union": ["a", "@x+"]}, "MS601", ("s", "union", 1), "both '@' before"),
    ],
)
def test_yaml_mistakes_are_located_and_name_their_selector(definition, code, path, words):
    positions = {path: Location("selectors.yml", 7, 5, 9)}
    context = SelectionContext(locate=positions.get)
    (diagnostic,) = check_selectors({"s": definition}, context)
    assert (diagnostic.code, diagnostic.location) == (code, Location("selectors.yml", 7, 5, 9))
    assert diagnostic.message.startswith("selector 's': ")
    assert words in f"{diagnostic.message} {diagnostic.help}"
    assert mistakes(selector="s", selectors={"s": definition}, context=context) == (diagnostic,)


@pytest.mark.parametrize(("quote", "column"), [(0, 21), (1, 22)])
def test_a_mistake_within_a_yaml_text_has_its_own_column(quote, column):
    text = "report tags:x"
    location = Location("selectors.yml", 2, 14, 14 + len(text) + 2 * quote)
    (diagnostic,) = check_selectors({"s": text}, SelectionContext(locate={("s",): location}.get))
    assert diagnostic.location == Location("selectors.yml", 2, column, column + 4)


def test_yaml_without_places_still_names_the_selector():
    (diagnostic,) = check_selectors({"s": {"union": "x"}})
    assert (diagnostic.location, diagnostic.message) == (
        None,
        "selector 's': 'union' must be a list, not 'x'",
    )


def test_selectors_in_a_circle():
    selectors = {
        "a": "selector:b",
        "b": {"union": ["report", "selector:c"]},
        "c": "selector:a",
        "d": "selector:d",
    }
    diagnostics = check_selectors(selectors)
    assert [one.code for one in diagnostics] == ["MS608", "MS608"]
    assert "'a' → 'b' → 'c' → 'a'" in diagnostics[0].message
    assert [one.code for one in mistakes(selector="b", selectors=selectors)] == ["MS608"]


def test_two_default_selectors():
    selectors = {name: {"definition": "report", "default": True} for name in ("a", "b")}
    assert [one.code for one in check_selectors(selectors)] == ["MS607"]
    assert [one.code for one in mistakes(selectors=selectors)] == ["MS607"]


def test_a_definition_nested_too_deep_is_refused():
    tree = "report"
    for _ in range(500):
        tree = {"union": [tree]}
    (diagnostic,) = check_selectors({"s": tree})
    assert "nested too deep" in diagnostic.message


def test_an_unknown_selector():
    (diagnostic,) = mistakes(selector="nightli", selectors={"nightly": "tag:nightly"})
    assert (diagnostic.code, diagnostic.location) == ("MS604", Location("--selector", 1, 1, 8))
    assert diagnostic.help == "did you mean 'nightly'?"


def test_selector_stands_alone():
    (diagnostic,) = mistakes("report", selector="s", selectors={"s": "report"})
    assert diagnostic.code == "MS609"


def test_an_empty_yaml_selector_is_a_warning():
    (diagnostic,) = warnings(selector="s", selectors={"s": {"tag": "nightlyy"}})
    assert (diagnostic.message, diagnostic.help) == (
        "selector 's': 'tag:nightlyy' selects nothing",
        "did you mean 'tag:nightly'?",
    )


@given(st.text(alphabet="ab+@,:.* 1[]!/\\-", max_size=12))
def test_any_text_is_selected_by_or_reported(text):
    try:
        select_nodes(GRAPH, [text], [text])
    except MillstreamError as error:
        for diagnostic in error.diagnostics:
            assert diagnostic.location
            assert diagnostic.location.end > diagnostic.location.column


NAMES = "abcdefg"


@st.composite
def small_graphs(draw) -> Graph:
    nodes = []
    for position, name in enumerate(NAMES):
        parents = draw(st.sets(st.sampled_from(NAMES[:position]), max_size=3)) if position else set()
        tags = tuple(draw(st.sets(st.sampled_from("xyz"))))
        nodes.append(model(name, *(f"model.{parent}" for parent in sorted(parents)), tags=tags))
    return build_graph({node.id: node for node in nodes})


terms = st.tuples(
    st.booleans(),
    st.none() | st.sampled_from(["", "0", "1", "2"]),
    st.sampled_from([*NAMES, "tag:x", "tag:y", "tag:[yz]", "*"]),
    st.none() | st.sampled_from(["", "1", "3"]),
).filter(lambda term: not (term[0] and term[3] is not None))
unions = st.lists(st.lists(terms, min_size=1, max_size=3), min_size=1, max_size=3)


def written(union):
    def one(term):
        with_parents, up, value, down = term
        return (
            ("@" if with_parents else "")
            + (f"{up}+" if up is not None else "")
            + value
            + (f"+{down}" if down is not None else "")
        )

    return " ".join(",".join(map(one, part)) for part in union)


def distances(graph):
    """Count the edges from each node down to each other one, by Floyd and Warshall."""
    far = {
        (a, b): 0 if a == b else 1 if a in graph.nodes[b].depends_on else 99
        for a in graph.nodes
        for b in graph.nodes
    }
    for k in graph.nodes:
        far = {(a, b): min(d, far[a, k] + far[k, b]) for (a, b), d in far.items()}
    return far


def naive(graph, union, far):
    def matched(value):
        if value.startswith("tag:"):
            return {n.id for n in graph.nodes.values() if set(n.tags) & set(value[4:])}
        return set(graph.nodes) if value == "*" else {f"model.{value}"}

    def one(term):
        with_parents, up, value, down = term
        start = matched(value)
        high = 0 if up is None else int(up or 50)
        low = 0 if down is None else int(down or 50)
        ids = {n for n in graph.nodes for s in start if far[n, s] <= high or far[s, n] <= low}
        if with_parents:
            below = {n for n in graph.nodes for s in start if far[s, n] <= 50}
            ids |= {n for n in graph.nodes for b in below if far[n, b] <= 50}
        return ids

    return set().union(*(set.intersection(*map(one, part)) for part in union))


@settings(max_examples=200)
@given(small_graphs(), unions, st.none() | unions)
def test_selection_equals_a_naive_computation(graph, included, excluded):
    far = distances(graph)
    expected = naive(graph, included, far) - (naive(graph, excluded, far) if excluded else set())
    selection = select_nodes(graph, [written(included)], [written(excluded)] if excluded else [])
    assert set(selection.ids) == expected
    assert list(selection.ids) == sorted(selection.ids, key=graph.order.index)


@pytest.mark.parametrize(
    "terms", [["+*"], ["+tag:x+", "@model_*"], ["+models/**/*.sql+,config.materialized:view"]]
)
def test_five_thousand_nodes_are_selected_in_a_fifth_of_a_second(terms):
    nodes = [
        model(
            f"model_{i}",
            *({f"model.model_{i - d}" for d in (1, 7, 500) if i >= d}),
            folder=f"layer_{i // 500}",
            tags=("x",) if i % 2 else (),
            materialized="view",
        )
        for i in range(5000)
    ]
    graph = build_graph({node.id: node for node in nodes})
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        selection = select_nodes(graph, terms)
        best = min(best, time.process_time() - start)
        assert len(selection.ids) == 5000
    assert best < 0.2
