"""What is deployed does not fit the project: each remedy is followed, and the rows go on."""

import pytest
from deltalake import DeltaTable
from engine.test_apply import ANY, MOST, TOTALS, totals, went_back
from engine.test_built_projects import KAFKA
from engine.test_shared_runs import SINK, rows_of, shared
from support.runs import built, create_topics, errors, table_rows
from support.shops import SUMS, UNOPTIMIZED, WINDOWS, event, minute
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Update
from millstream.deploy.values import DiagnosticEvent

pytestmark = [SPARK_WARNINGS, pytest.mark.long]


def refused(call, *arguments, **options):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments, **options)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


def stopped(shop, spark, **options):
    (diagnostic,) = errors(built(shop.root, spark, **options)[1])
    return diagnostic.code, diagnostic.help


def go_on(shop, spark, **options):
    assert errors(built(shop.root, spark, **options)[1]) == []


def test_there_is_nothing_to_roll_back_twice(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=2.0), event(2, value=3.0))
    go_on(shop, first_spark)
    remedy = "only the last `millstream apply` that rebuilt something is retained"
    assert refused(went_back, shop, first_spark) == ("MS887", remedy)
    shop.model("totals", MOST)
    go_on(shop, first_spark, intent=ANY)
    went_back(shop, first_spark)
    assert totals(shop) == {"a": (5.0, 2)}
    assert refused(went_back, shop, first_spark) == ("MS887", remedy)
    # What was rebuilt since is rebuilt once more.
    go_on(shop, first_spark, intent=ANY)
    go_on(shop, first_spark, intent=FullRefresh())
    code, remedy = refused(went_back, shop, first_spark)
    assert (code, remedy) == ("MS887", "check out the older version, and run `millstream apply`")
    shop.model("totals", TOTALS)
    go_on(shop, first_spark, intent=ANY)
    assert totals(shop) == {"a": (5.0, 2)}


def test_a_state_that_would_count_rows_twice_is_rebuilt(shop, first_spark):
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.model("windows", WINDOWS)
    shop.model("totals", SUMS)
    shop.send(*(minute(number) for number in range(10)))
    go_on(shop, first_spark)
    before = table_rows(shop.root, "model.totals")
    shop.model("windows", WINDOWS.replace("1 minute", "2 minutes"))
    go_on(shop, first_spark, intent=Apply({NodeId("model", "totals"): ("kind",)}))
    remedy = "check out the older version, and run `millstream apply`, which rebuilds both"
    assert refused(went_back, shop, first_spark) == ("MS888", remedy)
    shop.model("windows", WINDOWS)
    go_on(shop, first_spark, intent=ANY)
    assert table_rows(shop.root, "model.totals") == before


def test_checkpoints_of_another_project_and_a_topic_that_is_missing(shop, first_spark):
    shop.write("profiles.yml", KAFKA.format(bootstrap=shop.bootstrap))
    shop.source(topic="evnts")
    shop.model("totals", TOTALS)
    remedy = "create it, fix `topic:` of the source, or check `bootstrap_servers` of the target"
    assert refused(built, shop.root, first_spark) == ("MS872", remedy)
    create_topics(shop.bootstrap, "evnts", partitions=1)
    go_on(shop, first_spark)
    shop.source(topic="evets")
    assert refused(built, shop.root, first_spark) == ("MS872", remedy)
    shop.source()
    shop.send(event(1))
    go_on(shop, first_spark, intent=FullRefresh())
    (row,) = DeltaTable(str(shop.root / "tables/totals")).to_pyarrow_table().to_pylist()
    assert (row["total"], row["events"]) == (1.0, 1)

    other = "pyproject.toml"
    shop.write(other, (shop.root / other).read_text().replace('name = "shop"', 'name = "cafe"'))
    profiles = KAFKA.format(bootstrap=shop.bootstrap).replace("shop:", "cafe:")
    shop.write("profiles.yml", profiles)
    code, remedy = stopped(shop, first_spark)
    assert (code, remedy) == (
        "MS869",
        "give 'cafe' its own folder: set `checkpoints:` of the target in profiles.yml",
    )
    shop.write("profiles.yml", profiles.replace("checkpoints: checkpoints", "checkpoints: of_cafe"))
    go_on(shop, first_spark)


def test_runs_that_share_a_target_are_stopped_before_a_rebuild(shop, first_spark):
    shop.model("plain", SINK)
    shop.model("totals", TOTALS)
    shop.send(event(1), event(2, value=3.0))
    go_on(shop, first_spark)
    shop.model("totals", MOST)
    rebuild = Update(frozenset({NodeId("model", "totals")}))
    with shared(shop, first_spark, "plain") as one:
        one.until(lambda: one.events)
        with (
            pytest.raises(MillstreamError) as caught,
            shared(shop, first_spark, "totals", intent=rebuild) as other,
        ):
            other.until(lambda: False)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == (
        "MS673",
        "stop the other runs, run `millstream apply`, and start all runs again",
    )
    go_on(shop, first_spark, intent=ANY)
    shop.send(event(3, value=9.0))
    with shared(shop, first_spark, "plain") as one, shared(shop, first_spark, "totals") as other:
        one.until(lambda: rows_of(one, "events_topics") == 1)
        other.until(lambda: rows_of(other, "totals") == 1)
    assert totals(shop) == {"a": (9.0, 3)}


@pytest.fixture
def another_format(first_spark):
    """Let Spark write offsets in a format of later versions."""
    settings = first_spark.sparkContext._jsc.sc().conf()
    settings.set("spark.sql.streaming.offsetLog.formatVersion", "2")
    yield
    settings.remove("spark.sql.streaming.offsetLog.formatVersion")


def test_a_model_is_new_in_a_query_whose_offsets_are_unknown(shop, first_spark, another_format):
    shop.model("plain", SINK)
    shop.send(event(1))
    go_on(shop, first_spark)
    shop.model("more", SINK)
    shop.send(event(2))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    (warning,) = [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)]
    assert warning.code == "MS876"
    assert "--full-refresh --select more" in warning.help
    assert [row["id"] for row in shop.values("more")] == [2]
    go_on(shop, first_spark, models=frozenset({"model.more"}), intent=FullRefresh())
    assert [row["id"] for row in shop.values("more")][-2:] == [1, 2]
