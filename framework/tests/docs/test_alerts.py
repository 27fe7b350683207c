"""Alert rules, judged by Prometheus' own promtool: synthetic series make each of them fire and resolve."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import yaml
from msgspec.structs import replace
from support.shops import Shop

from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.docs.export import exported_project
from millstream.docs.exporters import write_document
from millstream.docs.exporters.alerts.rules import AlertSubject, alerts_of
from millstream.results.run_metrics import RUN_METRICS
from millstream.results.thresholds import Thresholds

LIMITS = (1000, 300.0)
THRESHOLDS = Thresholds(*LIMITS)
HERE = {"job": "run", "instance": "here:9464"}
ELSEWHERE = {"job": "run", "instance": "elsewhere:9464"}
PROJECT, TARGET = 'it\'s "{{ .Labels }}"', "on: {{ $value }} $HOME 'x' # é"
RUN = 'millstream_run{project="%s",target="local",version="1"}'
QUERY = '{query="q"}'
FRESH = "freshness_web_events"

# The series of each alert by minute, and the minutes at which it does not fire, fires, and has resolved.
CASES = {
    "MillstreamQueryDown": ({f"millstream_up{QUERY}": "1x10 0x30 1x20"}, (20, 30, 45)),
    "MillstreamQueryFailing": ({f"millstream_failures_total{QUERY}": "0x20 1 2 3x60"}, (21, 24, 45)),
    "MillstreamModelLeftOut": (
        {'millstream_left_out{query="q",model="m"}': "0x10 1x10 0x10"},
        (10, 14, 25),
    ),
    "MillstreamLag": (
        {
            'millstream_lag{query="q",topic="a"}': "600x10 500x10 0x10",
            'millstream_lag{query="q",topic="b"}': "400x10 501x10 501x10",
        },
        (10, 18, 25),
    ),
    "MillstreamFallingBehind": (
        # 60 rows a minute are read, and 60 more than that arrive.
        {
            f"millstream_rows_total{QUERY}": "0+60x200",
            'millstream_lag{query="q",topic="a"}': "0x60 60+60x80 0x60",
        },
        (70, 100, 160),
    ),
    "MillstreamStale": (
        {
            # At first, there is nothing to read.
            f"millstream_seconds_since_batch{QUERY}": "0+60x10 0x10 0+60x10 0x10",
            'millstream_lag{query="q",topic="a"}': "0x15 5x40",
        },
        (9, 30, 35),
    ),
    # The first one comes with the series itself; the last ones are counted by a new process.
    "MillstreamDeadLetters": (
        {'millstream_dead_letters_total{query="q",of="source.web.events"}': "_x10 3x60 0x10 2x40"},
        (9, 20, 40),
    ),
    "MillstreamSkippedRecords": (
        {'millstream_skipped_total{query="q",of="source.web.events"}': "1x30 2x60"},
        (29, 33, 60),
    ),
    "MillstreamTestViolated": (
        {'millstream_test_failures_total{query="q",test="not_null_m_id"}': "1x30 2x60"},
        (29, 33, 60),
    ),
    "MillstreamNotFresh": ({f'millstream_test_passed{{test="{FRESH}"}}': "1x10 0x10 1x10"}, (9, 15, 25)),
    "MillstreamTestFailed": ({'millstream_test_passed{test="unique_m"}': "1x10 0x10 1x10"}, (9, 15, 25)),
    "MillstreamLateRows": (
        {
            f"millstream_rows_total{QUERY}": "0+1000x300",
            f"millstream_late_rows_total{QUERY}": "0x60 20+20x60 1220x180",
        },
        (61, 110, 250),
    ),
    "MillstreamHeapFull": (
        {
            # Full before each collection, and later also after it.
            'millstream_jvm_heap_bytes{kind="used"}': "20 95x7 20 95x7 20 90x40 20x40",
            'millstream_jvm_heap_bytes{kind="max"}': "100x100",
        },
        (8, 45, 65),
    ),
    "MillstreamGarbageCollection": (
        # Two collectors use 15 seconds of each minute together.
        {
            'millstream_jvm_gc_seconds_total{collector="young"}': "0x30 10+10x40 400x60",
            'millstream_jvm_gc_seconds_total{collector="old"}': "0x30 5+5x40 200x60",
        },
        (31, 60, 100),
    ),
}


def labelled(series, **labels):
    """Add labels to a series."""
    name, _, rest = series.partition("{")
    pairs = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{name}{{{pairs},{rest}" if rest else f"{name}{{{pairs}}}"


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def firing(alert, series):
    """Return the series of an alert that fires for our run alone, with the labels of its expression."""
    (by,) = re.findall(r"^sum by \(job, instance(.*?)\)", alert["expr"]) or [
        ", query, model, of, test, topic"
    ]
    group_labels = {
        name: value for name, value in re.findall(r'(\w+)="([^"]*)"', series) if name in by.split(", ")
    }
    labels = {"alertname": alert["alert"], "alertstate": "firing", **alert["labels"], **HERE, **group_labels}
    return "ALERTS{" + ",".join(f'{label}="{value}"' for label, value in labels.items()) + "}"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    shop = Shop(root, "")
    shop.source(tests="[{freshness: {column: _timestamp, within: 1 hour}}]")
    shop.model("m", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    return exported_project(compile_project(root, use_cache=False), THRESHOLDS)


@pytest.fixture(scope="module")
def rules(project, tmp_path_factory):
    """Return the file of rules, and its alerts by name."""
    file = tmp_path_factory.mktemp("rules") / "alerts.yml"
    file.write_text(write_document("alerts", project))
    (group,) = yaml.safe_load(file.read_text())["groups"]
    return file, {rule["alert"]: rule for rule in group["rules"]}


def test_promtool_accepts_the_rules_of_every_project(rules):
    file, by_name = rules
    assert f"SUCCESS: {len(by_name)} rules found" in promtool("check", "rules", file)


def test_each_alert_fires_and_resolves_and_other_projects_do_not_matter(rules, tmp_path):
    file, by_name = rules
    assert {*CASES, "MillstreamNotRunning"} == {*by_name}
    tests = [case(by_name[name], *values) for name, values in CASES.items()]
    # Before a query has ended its first batch, nothing tells what it has to read.
    hanging = {f"millstream_seconds_since_batch{QUERY}": "0+60x40 0x40"}
    tests.append(case(by_name["MillstreamStale"], hanging, (1, 30, 45)))
    absent = 'count(ALERTS{alertname="MillstreamNotRunning",alertstate="firing"}) or vector(0)'
    tests.append(
        {
            "interval": "1m",
            "input_series": [
                {"series": RUN % "shop", "values": "1x10 _x20 1x10"},
                {"series": RUN % "another", "values": "1x40"},
            ],
            "promql_expr_test": [
                {"expr": absent, "eval_time": f"{minute}m", "exp_samples": [{"value": value}]}
                for minute, value in ((10, 0), (25, 1), (35, 0))
            ],
        }
    )
    judge(tests, file, tmp_path)


def case(alert, series, minutes):
    """Return a test of an alert with the same series of two runs, of which one belongs to another project."""
    input_series = [
        {"series": labelled(name, **labels), "values": values}
        for labels in (HERE, ELSEWHERE)
        for name, values in series.items()
    ]
    input_series += [{"series": labelled(RUN % "shop", **HERE), "values": "1x300"}]
    input_series += [{"series": labelled(RUN % "another", **ELSEWHERE), "values": "1x300"}]
    fires = [{"labels": firing(alert, next(iter(series))), "value": 1}]
    question = f'ALERTS{{alertname="{alert["alert"]}",alertstate="firing"}}'
    return {
        "interval": "1m",
        "input_series": input_series,
        "promql_expr_test": [
            {"expr": question, "eval_time": f"{minute}m", "exp_samples": expected}
            for minute, expected in zip(minutes, ([], fires, []), strict=True)
        ],
    }


def judge(tests, file, folder):
    cases = folder / "cases.yml"
    cases.write_text(json.dumps({"rule_files": [str(file)], "evaluation_interval": "1m", "tests": tests}))
    promtool("test", "rules", cases)


def test_texts_of_users_reach_people_as_they_are_written(rules, tmp_path, project):
    file = tmp_path / "alerts.yml"
    file.write_text(write_document("alerts", replace(project, name=PROJECT, target=TARGET)))
    promtool("check", "rules", file)
    run = f"millstream_run{{project={json.dumps(PROJECT)},target={json.dumps(TARGET, ensure_ascii=False)}}}"
    alert = {
        "exp_labels": {
            "severity": "warning", "project": PROJECT, "target": TARGET, **HERE, "query": "q", "of": "source.web.events",
        },
        "exp_annotations": {
            "summary": f"new dead letters of source.web.events in {PROJECT} ({TARGET})",
            "description": (
                f"See why: `millstream dead-letters ls web.events --target {shlex.quote(TARGET)}`. Fix the cause, "
                "deploy the fix, and send the records back: "
                f"`millstream dead-letters replay web.events --target {shlex.quote(TARGET)}` says which, "
                "`--yes` does it."
            ),
        },
    }  # fmt: skip
    letters = 'millstream_dead_letters_total{query="q",of="source.web.events"}'
    test = {
        "interval": "1m",
        "input_series": [
            {"series": labelled(run, **HERE), "values": "1x30"},
            {"series": labelled(letters, **HERE), "values": "_x10 3x20"},
        ],
        "alert_rule_test": [
            {"eval_time": "12m", "alertname": "MillstreamDeadLetters", "exp_alerts": [alert]}
        ],
    }
    judge([test], file, tmp_path)


def test_every_alert_names_a_command_that_exists():
    watched = AlertSubject("shop", TARGET, *LIMITS, ("fresh",))
    above, names = click.Context(millstream, **millstream.context_settings), set()
    for alert in alerts_of(watched):
        text = alert.description.replace('{{ "{{" }}', "{{")
        text = re.sub(r"\{\{ \$labels\.\w+.*?\}\}", "name", text)
        commands = re.findall(r"`millstream (.+?)`", text)
        assert commands or "/readyz" in text, alert.name
        for command in commands:
            name, *arguments = shlex.split(command)
            context = millstream.get_command(above, name).make_context(name, arguments, above)
            assert context.params["target"] == TARGET
            names.add(name)
    assert names == {"run", "apply", "lag", "plan", "state", "test", "dead-letters"}


def test_the_thresholds_of_the_target_decide():
    alerts = {alert.name: alert for alert in alerts_of(AlertSubject("shop", "local"))}
    assert not {"MillstreamLag", "MillstreamNotFresh"} & {*alerts}
    assert (alerts["MillstreamStale"].severity, " > 900 " in alerts["MillstreamStale"].expression) == (
        "warning",
        True,
    )
    (stale,) = (
        alert
        for alert in alerts_of(AlertSubject("shop", "local", *LIMITS))
        if alert.name == "MillstreamStale"
    )
    assert (stale.severity, " > 300 " in stale.expression) == ("critical", True)


def test_expressions_name_metrics_that_a_run_has():
    metrics = {metric.series for metric in RUN_METRICS}
    for alert in alerts_of(AlertSubject("shop", "local", *LIMITS, ("fresh",))):
        named = set(re.findall(r"millstream_\w+", alert.expression))
        assert named <= metrics, alert.name


def test_the_guide_lists_all_alerts():
    guide = (Path(__file__).parents[3] / "docs/metrics.md").read_text()
    alerts = [alert.name for alert in alerts_of(AlertSubject("shop", "local", *LIMITS, ("fresh",)))]
    assert re.findall(r"^\| `(Millstream\w+)` \|", guide, re.MULTILINE) == alerts
