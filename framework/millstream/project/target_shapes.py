"""The shapes of a target in profiles.yml, for validation and for completion in editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Meta, defstruct
from msgspec.structs import fields

from millstream.project.options import Guarantee
from millstream.project.schema import Shape
from millstream.project.shapes import Duration, Positive, describe_key
from millstream.stores.registry import DEFAULT, STORES, StoreName, store_declaration

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

    bootstrap_servers: Annotated[str, describe_key("host:port; separate several with commas")]
    security_protocol: Annotated[
        Protocol | None, describe_key("the security protocol, by default PLAINTEXT")
    ] = None
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"] | None,
        describe_key("how clients authenticate"),
    ] = None
    sasl_username: str | None = None
    sasl_password: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    sasl_jaas_config: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    ssl_truststore_location: str | None = None
    ssl_truststore_password: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    ssl_truststore_type: str | None = None
    ssl_keystore_location: str | None = None
    ssl_keystore_password: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    ssl_keystore_type: str | None = None
    ssl_key_password: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    ssl_ca_location: Annotated[str | None, describe_key("a PEM file with the trusted certificates")] = None
    ssl_certificate_location: str | None = None
    ssl_key_location: str | None = None
    ssl_endpoint_identification_algorithm: str | None = None
    producer: Annotated[dict[str, Any], describe_key("options of Kafka producers")] = {}
    consumer: Annotated[dict[str, Any], describe_key("options of Kafka consumers")] = {}
    admin: Annotated[dict[str, Any], describe_key("options of Kafka's admin client")] = {}


class SchemaRegistryShape(Shape):
    words: ClassVar[dict[str, str]] = {
        "schema.registry.url": "write url: …",
        "user": "write username: …",
        "ca_location": "write ca: …",
        "auth": "write username: … and password: …, or token: …",
        "basic.auth.user.info": "write username: … and password: …",
    }

    url: Annotated[str, describe_key("https://host:port; separate several with commas")]
    username: Annotated[str | None, describe_key("a user, or an API key")] = None
    password: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    token: Annotated[str | None, describe_key("a bearer token, a secret: use env_var()")] = None
    cluster: Annotated[str | None, describe_key("with a token: the logical cluster in Confluent Cloud")] = (
        None
    )
    ca: Annotated[str | None, describe_key("a PEM file with the trusted certificates")] = None
    certificate: Annotated[str | None, describe_key("a PEM file with the client's certificate")] = None
    key: Annotated[str | None, describe_key("a PEM file with the key of the certificate")] = None
    key_password: Annotated[str | None, describe_key("a secret: use env_var()")] = None
    register: Annotated[
        bool | None, describe_key("false: sinks use schemas that others have registered, and register none")
    ] = None


if TYPE_CHECKING:

    class TablesShape(Shape):
        """The store of tables, and the options of all stores."""

        store: StoreName = DEFAULT

else:
    _STORES = [store_declaration(store) for store in STORES]
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
        Positive | None, describe_key("/readyz fails while a query has more records than this to read")
    ] = None
    max_staleness: Annotated[
        Duration | None,
        describe_key(
            "/readyz and /healthz fail while a query has ended no batch for this long, with records to read"
        ),
    ] = None
    test_every: Annotated[
        Duration | Literal["never"] | None,
        describe_key("how often run tests freshness, row_count and unique, by default 10 minutes"),
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

    webhook: Annotated[str | None, describe_key("an http or https address, a secret: use env_var()")] = None
    command: Annotated[
        list[str],
        describe_key("or a program and its arguments, which reads the notification as JSON from stdin"),
    ] = []
    format: Annotated[
        Literal["slack", "json"] | None,
        describe_key('of the webhook: slack, the default, is {"text": …}; json has all fields'),
    ] = None
    on: Annotated[list[NoticeKind], describe_key("the events to send; by default all")] = []
    every: Annotated[
        Duration | None, describe_key("each cause is sent at most once in this time, by default 1 hour")
    ] = None


class TargetShape(Shape):
    """One output of a profile."""

    words: ClassVar[dict[str, str]] = {
        "type": "remove it: a target is a Spark master and a Kafka cluster",
        "threads": 'write master: "local[4]"',
    }

    master: Annotated[str, describe_key("a Spark master: local[*], spark://..., yarn, k8s://...")] = (
        "local[*]"
    )
    kafka: Annotated[
        KafkaShape | Literal["embedded"], describe_key("embedded, or the settings of a cluster")
    ] = "embedded"
    schema_registry: Annotated[
        SchemaRegistryShape | None,
        describe_key(
            "a schema registry with Confluent's API; with the embedded Kafka, by default a local one"
        ),
    ] = None
    tables: TablesShape | None = None
    catalogs: Annotated[
        dict[str, dict[str, Any]],
        describe_key("catalogs of Iceberg tables, by name: their properties, such as type and uri"),
    ] = {}
    checkpoints: Annotated[str | None, describe_key("where checkpoints are kept")] = None
    trigger: Annotated[
        Trigger | None, describe_key("available_now, realtime or a duration such as 5 seconds")
    ] = None
    latency: Annotated[
        Duration | None,
        describe_key("maximum time until the results of a record are stored: limits the batches of `run`"),
    ] = None
    optimization: Annotated[
        Optimization | list[str] | None, describe_key("rules to apply: all, none or names of rules")
    ] = None
    health: Annotated[
        HealthShape | None, describe_key("thresholds of a run's probes, and its interval of tests")
    ] = None
    notifications: Annotated[
        list[NotificationShape] | None, describe_key("webhooks and commands that a run notifies of failures")
    ] = None
    grouping: Annotated[
        Literal["all", "stateless", "off"] | None, describe_key("which models share a query")
    ] = None
    guarantee: Annotated[
        Guarantee | None,
        describe_key(
            "of records in Kafka: exactly_once sends them in transactions; by default at_least_once"
        ),
    ] = None
    timezone: Annotated[
        str | None,
        describe_key(
            "the time zone of days and hours in SQL, by default UTC; "
            "windows of a day begin at midnight UTC, as in Spark"
        ),
    ] = None
    spark: Annotated[dict[str, Any], describe_key("further Spark settings")] = {}
    environment: Annotated[
        str | None,
        describe_key("an isolated environment in which all commands work, such as the user's name"),
    ] = None
    fast_paths: Annotated[
        Literal["on", "off"] | None,
        describe_key("off: run every query without shortcuts, to find out whether one gives other rows"),
    ] = None
    jars: Annotated[
        Literal["fetched", "provided"] | None, describe_key("provided: the cluster has its own jars")
    ] = None
