"""Opaque SQL, and what to write instead."""

import pytest

from millstream.compile.manifest import Compiled, Manifest, ManifestNode
from millstream.core.node_id import NodeId
from millstream.explain.opaque import REMEDIES, find_opaque, opaque_remedy
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.sql.query import DerivedTable, From, OpaqueBody, Select, SqlQuery, SqlUnion

NOTHING = Catalog({}, {}, {})


def catalog(body) -> Catalog:
    return Catalog({}, {}, {NodeId("model", "m"): ModelSpec(NodeId("model", "m"), "m", SqlQuery(body), ())})


def compiled(*reasons: str) -> Compiled:
    node = ManifestNode(
        id=NodeId("model", "m"),
        kind="model",
        name="m",
        path="models/m.sql",
        fqn=("shop", "m"),
        opaque=reasons,
        compiled_path="compiled/models/m.sql",
    )
    return Compiled(
        Manifest(1, "0", "shop", "local", {node.id: node}, {}),
        (),
        {NodeId("model", "m"): "select\n1\nlimit 2\n"},
    )


def test_model_file_line_and_remedy_are_told() -> None:
    reason = "GROUP BY CUBE (line 7 of the compiled SQL: cube(a, b))"
    (obstacle,) = find_opaque(NOTHING, compiled(reason))
    assert (obstacle.model, obstacle.path, obstacle.line) == ("m", "models/m.sql", 7)
    assert obstacle.compiled_path == "target/compiled/models/m.sql"
    assert (obstacle.reason, obstacle.text) == ("GROUP BY CUBE", "cube(a, b)")
    assert obstacle.remedy == "one model for each grouping, each with its GROUP BY"


def test_a_text_of_several_lines_is_one_text() -> None:
    (obstacle,) = find_opaque(
        NOTHING, compiled("a LATERAL subquery (line 2 of the compiled SQL: (select\n1))")
    )
    assert (obstacle.line, obstacle.text) == (2, "(select\n1)")


def test_a_reason_without_words_stands_where_its_sql_begins() -> None:
    opaque = OpaqueBody((), ("odd",), start=9)
    for body in (opaque, SqlUnion((opaque, opaque)), Select((), (From("t", DerivedTable(opaque), ()),))):
        (obstacle,) = find_opaque(catalog(body), compiled())
        assert (obstacle.reason, obstacle.line) == ("odd", 3)


def test_a_reason_that_compiler_and_plan_tell_is_told_once() -> None:
    obstacles = find_opaque(
        catalog(OpaqueBody((), ("a recursive CTE",), start=9)),
        compiled("a recursive CTE (line 2 of the compiled SQL: x)"),
    )
    assert [(obstacle.reason, obstacle.line) for obstacle in obstacles] == [("a recursive CTE", 2)]


def test_only_models_that_are_asked_for() -> None:
    assert find_opaque(NOTHING, compiled("odd"), models=(NodeId("model", "other"),)) == ()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("a window function: a stream has no end to order by", "unique_key"),
        ("ORDER on a stream, which has no end", "max_by"),
        ("LIMIT on a stream, which has no end", "max_by"),
        ("a subquery that reads 'id' of the enclosing query", "LEFT SEMI JOIN"),
        ("a subquery that reads a CTE", "LEFT SEMI JOIN"),
        ("EXCEPT", "LEFT ANTI JOIN"),
        ("INTERSECT", "LEFT SEMI JOIN"),
        ("PIVOT after a relation", "filter (where"),
        ("TABLESAMPLE after a relation", "xxhash64"),
        ("MATCH_RECOGNIZE after a relation", "keeps state by key"),
        ("Values as a relation", "seed"),
        ("a recursive CTE", "seed"),
        ("GROUP BY ROLLUP", "one model for each grouping"),
        ("Something new is not understood", "simpler SQL"),
    ],
)
def test_each_reason_has_its_remedy(reason: str, words: str) -> None:
    assert words in opaque_remedy(reason)


def test_remedies_are_one_line() -> None:
    assert not any("\n" in opaque_remedy(message) for _, message in REMEDIES)
