"""What hover says of queries and state, of large projects by a process that plans them."""

from editor.conftest import SHOP, write_shop

from millstream.core.node_id import NodeId
from millstream.editor import plan_facts
from millstream.editor.plan_facts import PLANNERS, facts_of
from millstream.editor.project import OpenProject, absolute

TOTALS = NodeId("model", "totals")


def test_a_large_project_is_planned_in_the_background(tmp_path, monkeypatch):
    project = OpenProject(write_shop(tmp_path))
    view, _ = project.compile({})
    at_once = facts_of(view)
    assert at_once[TOTALS] == ("Runs in query `totals`", "State: a row per user_id, kept until it is deleted")
    monkeypatch.setattr(plan_facts, "MOST_MODELS", 0)
    assert facts_of(view) is None
    PLANNERS[tmp_path].wait()
    assert facts_of(view) == at_once
    by_kind = SHOP["models/totals.sql"].replace("'user_id'", "['user_id', 'kind']")
    by_kind = by_kind.replace("select user_id, sum", "select user_id, kind, sum") + ", kind"
    edited, errors = project.compile({absolute(tmp_path, "models/totals.sql"): by_kind.encode()})
    assert errors == []
    assert facts_of(edited) == at_once
    PLANNERS[tmp_path].wait()
    assert "per user_id, kind, kept" in facts_of(edited)[TOTALS][1]
