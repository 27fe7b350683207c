"""The shapes of a target in profiles.yml, for validation and for completion in editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Meta, defstruct
from msgspec.structs import fields

from millstream.project.options import Guarantee
from millstream.project.schema import Shape
from millstream.project.shapes import Duration, Positive, about
from millstream.stores.registry import DEFAULT, STORES, StoreName, declaration

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
_UNIT = r"\d+(\.\d+)? (millisecond|second|minute|hour|day)s?"
Trigger = Annotated[
    str,
    Meta(
        pattern=f"^(available_now|realtime|{_UNIT})$",
        title="available_now, realtime or a duration",
        examples=["5 seconds"],
        extra={"known": ("available_now", "realtime")},
    ),
]
Optimization = Annotated[
    str, Meta(pattern="^(all|none)$", title="all, none or a list of rules", examples=["all"])
]


class KafkaShape(Shape):
    words: ClassVar[dict[str, str]] = {
        "brokers": "write bootstrap_servers: …",
        "servers": "write bootstrap_servers: …",
        "username": "write sasl_username: …",
        "password": "write sasl_password: …",
        "bootstrap.servers": "write bootstrap_servers: …",
        "security.protocol": "write security_protocol: …",
    }

    bootstrap_servers: Annotated[str, about("host:port; separate several with commas")]
    security_protocol: Annotated[Protocol | None, about("the security protocol, by default PLAINTEXT")] = None
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"] | None,
        about("how clients authenticate"),
    ] = None
    sasl_username: str | None = None
    sasl_password: Annotated[str | None, about("a secret: use env_var()")] = None
    sasl_jaas_config: Annotated[str | None, about("a secret: use env_var()")] = None
    ssl_truststore_location: str | None = None
    ssl_truststore_password: Annotated[str | None, about("a secret: use env_var()")] = None
    ssl_truststore_type: str | None = None
    ssl_keystore_location: str | None = None
    ssl_keystore_password: Annotated[str | None, about("a secret: use env_var()")] = None
    ssl_keystore_type: str | None = None
    ssl_key_password: Annotated[str | None, about("a secret: use env_var()")] = None
    ssl_ca_location: Annotated[str | None, about("a PEM file with the trusted certificates")] = None
    ssl_certificate_location: str | None = None
    ssl_key_location: str | None = None
    ssl_endpoint_identification_algorithm: str | None = None
    producer: Annotated[dict[str, Any], about("options of Kafka producers")] = {}
    consumer: Annotated[dict[str, Any], about("options of Kafka consumers")] = {}
    admin: Annotated[dict[str, Any], about("options of Kafka's admin client")] = {}


class SchemaRegistryShape(Shape):
    words: ClassVar[dict[str, str]] = {
        "schema.registry.url": "write url: …",
        "user": "write username: …",
        "ca_location": "write ca: …",
        "auth": "write username: … and password: …, or token: …",
        "basic.auth.user.info": "write username: … and password: …",
    }

    url: Annotated[str, about("https://host:port; separate several with commas")]
    username: Annotated[str | None, about("a user, or an API key")] = None
    password: Annotated[str | None, about("a secret: use env_var()")] = None
    token: Annotated[str | None, about("a bearer token, a secret: use env_var()")] = None
    cluster: Annotated[str | None, about("with a token: the logical cluster in Confluent Cloud")] = None
    ca: Annotated[str | None, about("a PEM file with the trusted certificates")] = None
    certificate: Annotated[str | None, about("a PEM file with the client's certificate")] = None
    key: Annotated[str | None, about("a PEM file with the key of the certificate")] = None
    key_password: Annotated[str | None, about("a secret: use env_var()")] = None
    register: Annotated[
        bool | None, about("false: sinks use schemas that others have registered, and register none")
    ] = None


if TYPE_CHECKING:

    class TablesShape(Shape):
        """The store of tables, and the options of all stores."""

        store: StoreName = DEFAULT

else:
    _STORES = [declaration(store) for store in STORES]
    TablesShape = defstruct(
        "TablesShape",
        [
            ("store", StoreName, DEFAULT),
            *(
                (option.name, option.type, option.default)
                for store in _STORES
                for option in fields(store.options)
            ),
        ],
        bases=(Shape,),
        kw_only=True,
        module=__name__,
        namespace={"words": {key: text for store in _STORES for key, text in store.words.items()}},
    )


class HealthShape(Shape):
    """When a run is healthy, and how often it runs tests that need more than a row."""

    max_lag: Annotated[
        Positive | None, about("/readyz fails while a query has more records than this to read")
    ] = None
    max_staleness: Annotated[
        Duration | None,
        about(
            "/readyz and /healthz fail while a query has ended no batch for this long, with records to read"
        ),
    ] = None
    test_every: Annotated[
        Duration | Literal["never"] | None,
        about("how often run tests freshness, row_count and unique, by default 10 minutes"),
    ] = None


NoticeKind = Literal[
    "failed", "left_out", "dead_letters", "test_violated", "freshness_missed", "recovered", "ended"
]
NOTICE_INTERVAL = "1 hour"


class NotificationShape(Shape):
    """Where a run sends notifications, and of what."""

    words: ClassVar[dict[str, str]] = {
        "url": "write webhook: …",
        "slack": "write webhook: …",
        "events": "write on: [failed, recovered]",
    }

    webhook: Annotated[str | None, about("an http or https address, a secret: use env_var()")] = None
    command: Annotated[
        list[str], about("or a program and its arguments, which reads the notification as JSON from stdin")
    ] = []
    format: Annotated[
        Literal["slack", "json"] | None,
        about('of the webhook: slack, the default, is {"text": …}; json has all fields'),
    ] = None
    on: Annotated[list[NoticeKind], about("the events to send; by default all")] = []
    every: Annotated[
        Duration | None, about("each cause is sent at most once in this time, by default 1 hour")
    ] = None


class TargetShape(Shape):
    """One output of a profile."""

    words: ClassVar[dict[str, str]] = {
        "type": "remove it: a target is a Spark master and a Kafka cluster",
        "threads": 'write master: "local[4]"',
    }

    master: Annotated[str, about("a Spark master: local[*], spark://..., yarn, k8s://...")] = "local[*]"
    kafka: Annotated[KafkaShape | Literal["embedded"], about("embedded, or the settings of a cluster")] = (
        "embedded"
    )
    schema_registry: Annotated[
        SchemaRegistryShape | None,
        about("a schema registry with Confluent's API; with the embedded Kafka, by default a local one"),
    ] = None
    tables: TablesShape | None = None
    checkpoints: Annotated[str | None, about("where checkpoints are kept")] = None
    trigger: Annotated[Trigger | None, about("available_now, realtime or a duration such as 5 seconds")] = (
        None
    )
    latency: Annotated[
        Duration | None,
        about("maximum time until the results of a record are stored: limits the batches of `run`"),
    ] = None
    optimization: Annotated[
        Optimization | list[str] | None, about("rules to apply: all, none or names of rules")
    ] = None
    health: Annotated[
        HealthShape | None, about("thresholds of a run's probes, and its interval of tests")
    ] = None
    notifications: Annotated[
        list[NotificationShape] | None, about("webhooks and commands that a run notifies of failures")
    ] = None
    grouping: Annotated[Literal["all", "stateless", "off"] | None, about("which models share a query")] = None
    guarantee: Annotated[
        Guarantee | None,
        about("of records in Kafka: exactly_once sends them in transactions; by default at_least_once"),
    ] = None
    timezone: Annotated[str | None, about("the time zone of days and hours, by default UTC")] = None
    spark: Annotated[dict[str, Any], about("further Spark settings")] = {}
    environment: Annotated[
        str | None, about("an isolated environment in which all commands work, such as the user's name")
    ] = None
    fast_paths: Annotated[
        Literal["on", "off"] | None,
        about("off: run every query without shortcuts, to find out whether one gives other rows"),
    ] = None
    jars: Annotated[
        Literal["fetched", "provided"] | None, about("provided: the cluster has its own jars")
    ] = None
