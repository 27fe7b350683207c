"""No unit test passes what Spark refuses to start: each form here runs as a batch, and not as a stream."""

import pytest
from msgspec.structs import replace

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of
from millstream.runner.samples.streaming_checks import check_streaming
from millstream.runner.samples.trial import RECORDS, Trial, ViewFeed, as_batch
from millstream.testing.session import TestSession
from millstream.testing.units.values import Overrides

FORMS = {
    "row_number": "select *, row_number() over (partition by user order by id) as n from q",
    "rank": "select *, rank() over (order by id) as n from q",
    "lag": "select *, lag(id) over (partition by user order by id) as before from q",
    "sum over": "select *, sum(id) over (partition by user) as total from q",
    "order by": "select * from q order by id",
    "offset": "select * from q offset 1",
    "except": "select id from q except select id + 1 from q",
    "except all": "select id from q except all select id + 1 from q",
    "intersect": "select id from q intersect select id from q",
    "grouping sets": "select user, id, count(*) from q group by grouping sets ((user), (id))",
    "rollup": "select user, id, count(*) from q group by rollup (user, id)",
    "distinct aggregate": "select user, count(distinct id) from q group by user",
    "aggregate of an aggregate": "select n, count(*) from (select user, count(*) as n from q group by user) group by n",
    "scalar subquery": "select * from q where id = (select max(id) from q)",
    "in a stream": "select * from q where id in (select id + 1 from q)",
    "not in a stream": "select * from q where id not in (select id + 1 from q)",
    "outer join without bounds": "select a.id from q a left join q b on a.id = b.id",
    "full join": "select a.id from q a full join q b on a.id = b.id",
    "static before a stream": "select v.id, q.user from (values (1L)) as v(id) left join q on v.id = q.id",
}  # fmt: skip


@pytest.fixture(scope="module")
def newest(tmp_path_factory, first_spark):
    """Return what checks a query of a project without state, and what runs it as a batch."""
    from testing.conftest import FILES, write

    root = write(tmp_path_factory.mktemp("web"), FILES)
    project, compiled = load_project(root, None, None, None), compile_project(root)
    topology = compiled_topology(compiled)
    query = next(q for q in physical_of(topology).queries if "model.newest" in q.models)
    return query, topology, project


def over(query, form):
    """Return a query that does one thing more with its rows."""
    return replace(query, sql=f"with q as ({query.sql})\n{form}")


def test_what_runs_in_production_is_not_refused(newest, first_spark, tmp_path):
    query, topology, project = newest
    for planned in physical_of(topology).queries:
        check_streaming(first_spark, project, topology.catalog, topology.plan, planned, str(tmp_path))
    plain = over(query, "select * from q")
    check_streaming(first_spark, project, topology.catalog, topology.plan, plain, str(tmp_path))


@pytest.mark.parametrize("form", FORMS)
def test_what_a_batch_takes_and_a_stream_does_not_is_refused(newest, first_spark, form, tmp_path):
    query, topology, project = newest
    changed = over(query, FORMS[form])
    feeds = tuple(ViewFeed(source.view, RECORDS, ((),)) for source in changed.sources)
    as_rows = replace(changed, deliver=replace(changed.deliver, deliveries=()))
    as_batch(first_spark, Trial(project, as_rows, feeds), str(tmp_path))
    with pytest.raises(MillstreamError):
        check_streaming(first_spark, project, topology.catalog, topology.plan, changed, str(tmp_path))


TEST = """
    - name: one
      model: newest
      given:
        - input: source('web', 'events')
          rows: [{id: 1, user: a}]
      expect:
        rows: [{user: a, id: 1}]
"""


def test_a_unit_test_fails_where_the_query_of_production_is_refused(shop, first_spark):
    shop.passes(TEST)
    session = TestSession(shop.root)
    try:
        (_, _, checks), (unit,) = session._variant(Overrides()), session.main.project.unit_tests
        (query,) = checks._queries_of(NodeId("model", "newest"))
        checks._queries[query.name] = over(query, FORMS["row_number"])
        (diagnostic,) = session.judge(unit).diagnostics
    finally:
        session.close()
    assert "window" in diagnostic.message.lower()
    assert "newest" in diagnostic.message


def test_a_unit_test_of_a_project_with_errors_does_not_pass(shop):
    (shop.root / "models/newest.sql").write_text(
        "{{ config(materialized='table', unique_key='user') }} select user, nothing from {{ source('web', 'events') }}"
    )
    with pytest.raises(MillstreamError) as raised:
        shop.judged(TEST)
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["MS402"]
