"""The options of Kafka's clients and of Spark's Kafka source, and the errors of given ones.

Spark passes on unknown options, and Kafka's clients only log them: a misspelled option would have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from millstream.core.errors import WrongOption, did_you_mean
from millstream.project.secrets import Secret

Owner = Literal["producer", "consumer", "admin", "source"]
"""The owner of options: a profile's clients, a model's `producer`, or a source's `options`."""

CODE = "MS821"
FILE = Path(__file__).with_name("kafka_clients.txt")


class KafkaOption(Struct, frozen=True):
    type: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


_SPARK = {
    "minPartitions": KafkaOption("int", least=1),
    "maxRecordsPerPartition": KafkaOption("long", least=1),
    "failOnDataLoss": KafkaOption("boolean"),
    "kafkaConsumer.pollTimeoutMs": KafkaOption("long", least=1),
    "fetchOffset.numRetries": KafkaOption("int", least=0),
    "fetchOffset.retryIntervalMs": KafkaOption("long", least=0),
}
"""Options of Spark's Kafka source in addition to those of its consumer (KafkaSourceProvider)."""

_IN_FLIGHT = 5
"""The most requests at a time of which Kafka can tell whether one is repeated."""
_BYTES = "records are read and written as bytes, which the format converts to columns"
_OWN_GROUP = "each query has its own consumer group"
_STARTING = "write starting: earliest, latest or a time"
_TOPIC = "write topic: …"
_UNSEEN = "interceptors could change or drop records unseen"
_ONCE = "each query has its own; write guarantee: exactly_once for transactions"
_WHEN_DONE = "offsets are committed when a batch is finished"
_ALL = "a query reads to the end of a topic"
_CONSUMER = {
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "group.id": _OWN_GROUP,
    "group.instance.id": _OWN_GROUP,
    "group.protocol": _OWN_GROUP,
    "group.remote.assignor": _OWN_GROUP,
    "partition.assignment.strategy": "Spark assigns partitions itself",
    "enable.auto.commit": _WHEN_DONE,
    "auto.commit.interval.ms": _WHEN_DONE,
    "auto.offset.reset": "write starting: … in the source; a query with a checkpoint continues from there",
    "interceptor.classes": _UNSEEN,
}
_SET_BY_MILLSTREAM: dict[Owner, dict[str, str]] = {
    "producer": {
        "key.serializer": _BYTES,
        "value.serializer": _BYTES,
        "transactional.id": _ONCE,
        "interceptor.classes": _UNSEEN,
    },
    "consumer": _CONSUMER,
    "admin": {},
    "source": _CONSUMER
    | {
        "groupIdPrefix": _OWN_GROUP,
        "startingOffsets": _STARTING,
        "startingTimestamp": _STARTING,
        "startingOffsetsByTimestamp": _STARTING,
        "startingOffsetsByTimestampStrategy": _STARTING,
        "endingOffsets": _ALL,
        "endingTimestamp": _ALL,
        "endingOffsetsByTimestamp": _ALL,
        "maxOffsetsPerTrigger": "write max_rows_per_trigger: …",
        "minOffsetsPerTrigger": "write min_rows_per_trigger: …",
        "maxTriggerDelay": "write max_trigger_delay: …",
        "includeHeaders": "headers are read where a model reads _headers",
        "subscribe": _TOPIC,
        "subscribePattern": _TOPIC,
        "assign": _TOPIC,
    },
}
"""Options that Millstream sets: why, or where to set them instead."""


def prevents_transactions(name: str, value: object) -> bool:
    """Whether a producer with this option can't have transactions."""
    text = str(value).lower()
    match name:
        case "acks":
            return text not in {"all", "-1"}
        case "enable.idempotence":
            return text == "false"
        case "retries":
            return text == "0"
        case "max.in.flight.requests.per.connection":
            return int(text) > _IN_FLIGHT
    return False


_CONNECTION = (
    "bootstrap.servers", "bootstrap.controllers", "security.protocol", "sasl.mechanism", "sasl.jaas.config",
    "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.keystore.type", "ssl.keystore.key", "ssl.truststore.certificates",
    "ssl.keystore.certificate.chain", "ssl.key.password", "ssl.endpoint.identification.algorithm",
)  # fmt: skip
"""Options that all clients of a target share."""
_TARGET_KEYS = {
    "bootstrap.controllers": "bootstrap_servers",
    "ssl.truststore.certificates": "ssl_ca_location",
    "ssl.keystore.key": "ssl_key_location",
    "ssl.keystore.certificate.chain": "ssl_certificate_location",
}


@cache
def java_options(owner: str) -> dict[str, KafkaOption]:
    """Return all options of a Java client: producer, consumer or admin; or of a topic."""
    options: dict[str, KafkaOption] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        whose, name, *rest = line.split()
        if whose == owner:
            options[name] = _option(*rest)
    return options


def _option(type_: str, values: str = "") -> KafkaOption:
    least, dots, most = values.partition("..")
    if dots:
        return KafkaOption(type_, (), float(least), float(most) if most else None)
    return KafkaOption(type_, tuple(values.split("|")) if values else ())


@cache
def known_options(owner: Owner) -> dict[str, KafkaOption]:
    """Return the options that users may give."""
    of_client = java_options("consumer" if owner == "source" else owner)
    more = _SPARK if owner == "source" else {}
    return {
        name: option
        for name, option in (more | of_client).items()
        if name not in _CONNECTION and name not in _SET_BY_MILLSTREAM[owner]
    }


def wrong_options(owner: Owner, options: Mapping[str, Any]) -> Iterator[WrongOption]:
    """Yield the errors of options: unknown names, options that Millstream sets, invalid values."""
    allowed = known_options(owner)
    for name, value in options.items():
        if name in allowed:
            if fault := _fault(allowed[name], value):
                yield WrongOption(CODE, f"'{name}' must be {fault[0]}, not {_shown(value)}", fault[1], name)
        elif name in _CONNECTION:
            key = _TARGET_KEYS.get(name, name.replace(".", "_"))
            where = "next to it" if owner != "source" else "in profiles.yml"
            remedy = f"write {key}: … {where}, under kafka:"
            yield WrongOption(CODE, f"'{name}' is the same for all clients of a target", remedy, name)
        elif name in _SET_BY_MILLSTREAM[owner]:
            yield WrongOption(CODE, f"'{name}' can't be set here", _SET_BY_MILLSTREAM[owner][name], name)
        else:
            yield WrongOption(
                CODE, f"{_WHOSE[owner]} has no option '{name}'", _meant(owner, name, allowed), name
            )


_WHOSE = {
    "producer": "Kafka's producer",
    "consumer": "Kafka's consumer",
    "admin": "Kafka's admin client",
    "source": "a Kafka source",
}


def _meant(owner: Owner, name: str, allowed: Mapping[str, KafkaOption]) -> str:
    plain = name.removeprefix("kafka.")
    if plain in allowed:
        return f"omit 'kafka.': write {plain}"
    for dotted in (plain.replace("_", "."), plain.replace("-", ".")):
        if dotted in allowed:
            return f"did you mean '{dotted}'?"
    if others := [o for o in ("producer", "consumer", "admin") if o != owner and plain in java_options(o)]:
        return f"it is an option of Kafka's {others[0]}"
    return did_you_mean(plain, allowed, "see the options of Kafka 3.9's clients")


_VALUE_BITS = {"int": 31, "long": 63, "short": 15}


def _fault(option: KafkaOption, value: Any) -> tuple[str, str] | None:
    """Return what a value must be, and the remedy; None if it is valid."""
    if isinstance(value, Secret):
        return None
    if isinstance(value, list):
        return None if option.type == "list" else ("one value", "write one value")
    if value is None or isinstance(value, dict):
        return _NOUNS.get(option.type, "a string"), "write a value"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    match option.type:
        case "boolean" if text.lower() not in {"true", "false"}:
            return "true or false", "write true or false"
        case "int" | "long" | "short" | "double":
            return _number_fault(option, text)
        case _ if option.choices and text.lower() not in {allowed.lower() for allowed in option.choices}:
            return f"one of {', '.join(option.choices)}", did_you_mean(text, option.choices, "choose one")
    return None


_NOUNS = {
    "int": "a whole number", "long": "a whole number", "short": "a whole number", "double": "a number",
    "boolean": "true or false", "list": "a list",
}  # fmt: skip


def _number_fault(option: KafkaOption, text: str) -> tuple[str, str] | None:
    noun = _NOUNS[option.type]
    remedy = "write only the number; the name ends with the unit of a time"
    try:
        number = float(text) if option.type == "double" else int(text)
    except ValueError:
        return noun, remedy
    least, most = option.least, option.most
    if (least is not None and number < least) or (most is not None and number > most):
        return f"{noun} {_range(least, most)}", "choose another value"
    if (
        option.type != "double"
        and not -(2 ** _VALUE_BITS[option.type]) <= number < 2 ** _VALUE_BITS[option.type]
    ):
        return f"{noun} of at most {_VALUE_BITS[option.type] + 1} bits", "choose a smaller value"
    return None


def _range(least: float | None, most: float | None) -> str:
    start = f"from {_plain(least)}" if least is not None else ""
    return f"{start} to {_plain(most)}".strip() if most is not None else start


def _plain(number: float) -> str:
    return str(int(number) if number.is_integer() else number)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "nothing" if value is None else f"'{str(value).lower() if isinstance(value, bool) else value}'"
