"""The dashboard: Grafana's own types of it are the judge; its expressions run against a real run in `test_run`."""

import enum
import json
import re
import typing

import pytest
from msgspec.structs import replace
from support.shops import Shop

from millstream.compile import compile_project
from millstream.docs.export import exported_project
from millstream.docs.exporters import write_document
from millstream.docs.exporters.grafana import escape_variables, panels_of
from millstream.docs.exporters.promql import quote_promql
from millstream.results.run_metrics import RUN_METRICS

COST = "Costs $10, $query, ${model:raw} and [[instance]] <b>"
METRICS = f"""
    metrics:
      - {{name: paid, model: m, type: counter, expression: count(*), dimensions: [kind], description: "{COST}"}}
      - {{name: highest, model: m, type: gauge, expression: max(value)}}
      - {{name: seen, model: m, type: meter, expression: count(*)}}
      - {{name: sizes, model: m, type: histogram, expression: value, buckets: [1, 5]}}
      - {{name: waits, model: m, type: timer, expression: value}}
      - {{name: only_described, model: m, expression: sum(value)}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    shop = Shop(root, "")
    shop.model("m", "{{ config(materialized='sink') }} select kind, value from {{ source('web', 'events') }}")
    shop.write("models/metrics.yml", METRICS)
    return exported_project(compile_project(root, use_cache=False))


@pytest.fixture(scope="module")
def dashboard(project):
    return json.loads(write_document("grafana", project))


def expressions(dashboard):
    return [query["expr"] for panel in dashboard["panels"] for query in panel.get("targets", ())]


def read_by_grafana(document):
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="needs Python 3.11")
    from grafana_foundation_sdk.cog.plugins import register_default_plugins

    register_default_plugins()
    return models.Dashboard.from_json(document)


def test_grafanas_own_types_read_all_of_it(dashboard):
    read = read_by_grafana(dashboard)
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    again = json.loads(JSONEncoder().encode(read))
    assert list(differences(dashboard, again)) == []
    assert list(misfits(read)) == []


def test_the_judge_finds_mistakes(dashboard):
    wrong = json.loads(json.dumps(dashboard))
    wrong["panels"][1]["fieldConfig"]["defaults"]["unti"] = "s"
    wrong["panels"][1]["gridPos"]["w"] = "3"
    wrong["panels"][-1]["options"]["legend"]["placement"] = "left"
    read = read_by_grafana(wrong)
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    lost = [path for path, _, _ in differences(wrong, json.loads(JSONEncoder().encode(read)))]
    assert lost == ["$.panels[1].fieldConfig.defaults.unti"]
    assert {path.rpartition(".")[2] for path in misfits(read)} == {"w", "placement"}


def misfits(value, path="$"):
    """Yield where the values of Grafana's objects are not of the types that they declare."""
    for name, hint in typing.get_type_hints(type(value)).items():
        if hasattr(value, name) and not fits(member := getattr(value, name), hint):
            yield f"{path}.{name}"
        elif hasattr(value, name):
            for part in member if isinstance(member, list) else [member]:
                yield from misfits(part, f"{path}.{name}") if hasattr(part, "__dict__") else ()


def fits(value, hint):
    kind, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in {typing.Any, object}:
        return True
    if kind is typing.Union:
        return any(fits(value, type_) for type_ in inner)
    if kind is typing.Literal:
        return value in inner
    if kind is list:
        return isinstance(value, list) and all(fits(element, inner[0]) for element in value)
    if kind is dict:
        return isinstance(value, dict) and all(fits(element, inner[1]) for element in value.values())
    if hint is float:
        return isinstance(value, int | float)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return value in [member.value for member in hint]
    if isinstance(value, dict) and hint not in {str, int, bool}:
        return True  # some objects it leaves as they are
    return not isinstance(hint, type) or isinstance(value, hint)


def differences(ours, theirs, path="$"):
    """Yield what Grafana does not know, and leaves out; it adds its defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours:
            yield from differences(ours[name], theirs.get(name, "nothing"), f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{path}[{number}]")
    elif ours != theirs:
        yield path, ours, theirs


def test_every_metric_of_a_run_has_a_panel_and_no_other_is_named(dashboard):
    named = {
        name for expression in expressions(dashboard) for name in re.findall(r"millstream_\w+", expression)
    }
    assert named == {metric.series for metric in RUN_METRICS}


def test_metrics_of_the_project_have_panels(project, dashboard):
    named = {name for expression in expressions(dashboard) for name in re.findall(r"shop_\w+", expression)}
    assert named == {
        "shop_paid_total",
        "shop_highest",
        "shop_seen_total",
        "shop_seen_per_second",
        "shop_sizes_bucket",
        "shop_waits_seconds_bucket",
    }
    assert 'sum by (model, kind) (rate(shop_paid_total{instance=~"$instance",model=~"$model"}[$__rate_interval]))' in (
        expressions(dashboard)
    )  # fmt: skip
    units = {panel["title"]: panel.get("fieldConfig", {}).get("defaults") for panel in dashboard["panels"]}
    assert units["shop_waits_seconds"] == {"unit": "s"}


def test_panels_do_not_overlap_and_fit(dashboard):
    taken = set()
    for panel in dashboard["panels"]:
        position = panel["gridPos"]
        cells = {
            (position["x"] + x, position["y"] + y) for x in range(position["w"]) for y in range(position["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_grafana_finds_no_variables_in_texts_of_users(project, dashboard):
    (panel,) = (panel for panel in dashboard["panels"] if panel["title"] == "shop_paid_total per second" or
                panel["title"] == "shop_paid per second")  # fmt: skip
    variable = re.compile(r"\$\w|\$\{|\[\[")  # the start of Grafana's variables
    assert variable.search(COST)
    assert not variable.search(panel["description"])
    assert panel["description"].startswith(COST.replace("$", "$\u2060").replace("[[", "[\u2060[")[:12])
    assert escape_variables("$5 [x] $") == "$\u20605 [x] $"
    name = 'a "$query" \\ [[b]]'
    dashboard_ = json.loads(write_document("grafana", replace(project, name=name)))
    queries = [
        variable["query"]["query"]
        for variable in dashboard_["templating"]["list"]
        if variable["type"] == "query"
    ]
    assert quote_promql(name) == r'"a \"\x24query\" \\ [\x5bb]]"'
    assert f"label_values(millstream_run{{project={quote_promql(name)}}}, target)" in queries


def test_panels_say_when_they_have_no_data(project, dashboard):
    empty = {panel.title for panels in panels_of(project).values() for panel in panels if panel.empty}
    message = {panel["title"] for panel in dashboard["panels"] if "No data " in panel.get("description", "")}
    assert empty == message
