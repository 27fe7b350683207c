"""Options of Kafka's clients: what is unknown, impossible or not the user's to decide is told at its place."""

import pytest

from millstream.compile import compile_project
from millstream.project.kafka_options import java_options, known_options, wrong_options
from millstream.project.secrets import Secret


def only(owner, **options):
    refusals = [*wrong_options(owner, {name.replace("__", "."): value for name, value in options.items()})]
    assert len(refusals) == 1, refusals
    return refusals[0]


@pytest.mark.parametrize(
    ("owner", "name", "remedy"),
    [
        ("producer", "lingr.ms", "did you mean 'linger.ms'?"),
        ("producer", "linger_ms", "did you mean 'linger.ms'?"),
        ("producer", "kafka.linger.ms", "omit 'kafka.': write linger.ms"),
        ("consumer", "linger.ms", "it is an option of Kafka's producer"),
        ("source", "minpartitions", "did you mean 'minPartitions'?"),
        ("admin", "nonsense", "see the options of Kafka 3.9's clients"),
        ("producer", "security.protocol", "write security_protocol: … next to it, under kafka:"),
        ("source", "ssl.keystore.key", "write ssl_key_location: … in profiles.yml, under kafka:"),
        ("consumer", "enable.auto.commit", "offsets are committed when a batch is finished"),
        ("source", "group.id", "each query has its own consumer group"),
        ("source", "startingOffsets", "write starting: earliest, latest or a time"),
        ("source", "maxOffsetsPerTrigger", "write max_rows_per_trigger: …"),
        ("producer", "key.serializer", "records are read and written as bytes"),
    ],
)
def test_names_that_are_refused(owner, name, remedy):
    (refusal,) = wrong_options(owner, {name: "1"})
    assert name in refusal.message
    assert refusal.help.startswith(remedy)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("linger.ms", "soon", "a whole number, not 'soon'"),
        ("linger.ms", -1, "a whole number from 0, not '-1'"),
        ("linger.ms", None, "a whole number, not nothing"),
        ("linger.ms", {"ms": 1}, "a whole number, not a mapping"),
        ("linger.ms", [1], "one value"),
        ("batch.size", 2**31, "a whole number of at most 32 bits"),
        ("acks", 2, "one of -1, 0, 1, all"),
        ("enable.idempotence", "maybe", "true or false"),
        ("compression.type", "zip", "one of gzip"),
        ("sasl.login.refresh.window.factor", 2, "a number from 0.5 to 1"),
    ],
)
def test_values_that_are_refused(name, value, message):
    (refusal,) = wrong_options("producer", {name: value})
    assert message in refusal.message


@pytest.mark.parametrize(
    ("owner", "options"),
    [
        ("producer", {"linger.ms": 100, "acks": "ALL", "enable.idempotence": False, "batch.size": "1000"}),
        ("producer", {"metric.reporters": ["a", "b"], "client.id": Secret("x"), "linger.ms": Secret("x")}),
        ("consumer", {"max.poll.records": 5, "isolation.level": "read_committed"}),
        ("source", {"minPartitions": 8, "failOnDataLoss": False, "fetch.max.bytes": 1000000}),
        ("admin", {"request.timeout.ms": 1000}),
    ],
)
def test_what_is_good_is_not_told(owner, options):
    assert [*wrong_options(owner, options)] == []


def test_the_lists_are_those_of_the_clients():
    sizes = {owner: len(java_options(owner)) for owner in ("producer", "consumer", "admin", "topic")}
    assert sizes == {"producer": 95, "consumer": 96, "admin": 74, "topic": 34}
    assert "group.id" not in known_options("source")


PROJECT = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "models/sources.yml": "sources:\n  - name: web\n    topics:\n      - name: clicks\n        columns: [{name: id, type: string}]\n",
    "models/out.sql": "{{ config(materialized='sink') }}\nselect c.id from {{ source('web', 'clicks') }} as c\n",
}


@pytest.mark.parametrize(
    ("path", "content", "location"),
    [
        (
            "profiles.yml",
            "shop:\n  outputs:\n    local:\n      kafka:\n        bootstrap_servers: x:9092\n        producer: {lingr.ms: 1}\n",
            ("profiles.yml", 6, 20),
        ),
        (
            "models/sources.yml",
            PROJECT["models/sources.yml"] + "        options:\n          lingr.ms: 5\n",
            ("models/sources.yml", 7, 11),
        ),
        (
            "models/out.yml",
            "models:\n  - name: out\n    config:\n      producer: {acks: all, lingr.ms: 1}\n",
            ("models/out.yml", 4, 29),
        ),
        (
            "models/out.sql",
            PROJECT["models/out.sql"].replace("='sink'", "='sink', producer={'lingr.ms': 1}"),
            ("models/out.sql", 1, 32),
        ),
        (
            "pyproject.toml",
            PROJECT["pyproject.toml"] + "[tool.millstream.models]\nproducer = {'lingr.ms' = 1}\n",
            ("pyproject.toml", 4, 1),
        ),
    ],
)
def test_every_place_that_takes_options_is_checked(tmp_path, path, content, location):
    for name, text in {**PROJECT, path: content}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (diagnostic,) = compile_project(tmp_path).diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("MS821", "error")
    assert "lingr.ms" in diagnostic.message
    assert (diagnostic.location.path, diagnostic.location.line, diagnostic.location.column) == location
    assert diagnostic.line
