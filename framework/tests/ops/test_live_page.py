"""The live page: what it is served, from the events of a run."""

import http.client
import json
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal

import pytest

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.values import SetupStep, TopicEnds
from millstream.ops.live_page.page import LivePage
from millstream.ops.live_page.rows import NewestRows
from millstream.ops.live_page.server import serving_page
from millstream.ops.live_page.values import DrawnLineage, LineageNode, LiveRelation, page_text
from millstream.ops.query_status import RunTotals
from millstream.sources.topic.positions import positions_at
from millstream.stores.tables.values import Answer

NASTY = "</script><img src=x onerror=alert(1)>"


@contextmanager
def served(folder, *relations):
    totals, rows = RunTotals(), NewestRows(relations)
    page = LivePage("cafe", {NodeId("source", "cafe.orders"): "orders"}, totals, rows)
    node = LineageNode(
        NodeId("source", "cafe.orders"), NASTY, "source", "topic", 0, 0, 10, 10, "site/index.html"
    )
    with rows.reading(), serving_page(page, DrawnLineage(10, 10, [node], []), folder, 0) as address:
        yield page, address.removeprefix("http://").strip("/")


def get(address, path, **headers):
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type"), answer.read().decode()


def test_the_page_its_figures_and_the_site(tmp_path):
    (tmp_path / "index.html").write_text("the site")
    with served(tmp_path) as (page, address):
        page.tell(SetupStep("Spark"))
        page.tell(TopicEnds(positions_at({"orders": {0: 3, 1: 4}})))
        assert get(address, "/")[:2] == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in get(address, "/")[2]
        assert get(address, "/site/index.html")[2] == "the site"
        run = json.loads(get(address, "/run.json")[2])
        assert (run["project"], run["stage"]) == ("cafe", "Spark")
        assert run["nodes"] == {"source.cafe.orders": [7, 0.0]}
        assert json.loads(get(address, "/lineage.json")[2])["nodes"][0]["name"] == NASTY


@pytest.mark.parametrize("path", ["/run.json", "/", "/site/index.html"])
def test_other_sites_can_not_read_it(tmp_path, path):
    (tmp_path / "index.html").write_text("the site")
    with served(tmp_path) as (_, address):
        assert get(address, path, Host="evil.example")[0] == 421


@pytest.mark.parametrize("path", ["/nope", "/../live_page/server.py", "/site/../run.json", "/site/%2e%2e/x"])
def test_nothing_else_is_there(tmp_path, path):
    with served(tmp_path) as (_, address):
        assert get(address, path)[0] == 404


def test_rows_are_read_while_somebody_looks(tmp_path):
    def broken(_limit):
        raise MillstreamError(Diagnostic("MS843", "the table 'late' has not been built"))

    good = LiveRelation(NodeId("model", "a"), "a", "table", "", lambda _: Answer(("n",), [(1,), (None,)]))
    bad = LiveRelation(NodeId("model", "late"), "late", "table", "", broken)
    with served(tmp_path, good, bad) as (_, address):
        while not (relations := json.loads(get(address, "/run.json")[2])["relations"])[0]["rows"]:
            pass
    assert relations[0]["columns"] == ["n"]
    assert relations[0]["rows"] == [["1"], [None]]
    assert relations[1]["problem"] == "the table 'late' has not been built"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (Decimal("2.50"), "2.50"),
        (datetime(2026, 1, 1, 10, tzinfo=timezone.utc), "2026-01-01 10:00:00"),
        ({"a": [1]}, '{"a":[1]}'),
        (b"abc", "3 bytes"),
    ],
)
def test_texts_of_values(value, text):
    assert page_text(value) == text
