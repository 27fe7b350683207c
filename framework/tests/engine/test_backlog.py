"""How many records are to be read is known before Spark starts, and decides how much its JVM compiles."""

from pathlib import Path

import pytest
from support.runs import built, job_of
from support.shops import TOTALS, event, minute
from support.spark import SPARK_WARNINGS

from millstream.deploy import backlog as module
from millstream.deploy.backlog import amount_to_read, count_unread
from millstream.deploy.planning.intents import FullRefresh
from millstream.engine.spark.jvm import OPTIONS
from millstream.engine.spark.start_settings import spark_settings
from millstream.project.values import Target

pytestmark = SPARK_WARNINGS

PLAIN = "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}"


def count(shop, **options):
    job = job_of(shop.root, **options)
    return count_unread(job, job.physical.queries)


def test_records_of_each_topic_count_once_until_all_queries_have_read_them(shop, first_spark, monkeypatch):
    shop.model("totals", TOTALS)
    shop.model("plain", PLAIN)
    assert count(shop) == 0
    shop.send(event(1), *map(minute, range(5)))
    assert count(shop) == 6
    built(shop.root, first_spark)
    assert count(shop) == 0
    shop.send(event(2), event(3))
    assert count(shop) == 2
    built(shop.root, first_spark, models=frozenset({"model.totals"}))
    assert count(shop) == 2  # `plain` has not read them
    assert count(shop, intent=FullRefresh()) == 8
    job = job_of(shop.root)
    assert amount_to_read(job, job.physical.queries) == "few"
    monkeypatch.setattr(module, "MANY", 2)
    assert amount_to_read(job, job.physical.queries) == "many"


def options(amount, more="", master="local[2]"):
    settings = {"master": master} | ({"spark": {OPTIONS: more}} if more else {})
    return spark_settings(Target("shop", "local", settings), [], Path("/log"), amount=amount)[OPTIONS]


def test_the_jvm_compiles_as_much_as_the_records_are_worth():
    assert "-XX:TieredStopAtLevel=1" in options("few")
    assert "-XX:Tier4InvocationThreshold" in options("many")
    assert "-XX:+UseParallelGC" in options("many")
    assert "-XX:MetaspaceSize=256m" in options("few")
    assert options("endless") == options("many")
    assert "-XX:" not in options("few", master="spark://host:7077")


@pytest.mark.parametrize("amount", ["few", "endless"])
def test_the_profile_decides_about_the_collector(amount):
    java_options = options(amount, "-Xss4m -XX:+UseZGC")
    assert java_options.endswith("-Xss4m -XX:+UseZGC")
    assert "ParallelGC" not in java_options
