"""Settings of connections that contradict each other: clients would ignore some, or refuse them all.

They are reported where they are written, before anything connects. `kafka.security` and `registry.settings`
refuse the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from millstream.project.secrets import Placeholder, revealed_text

KAFKA, REGISTRY = "MS828", "MS895"
"""The codes of contradictions in `kafka` and in `schema_registry`."""
_WITH_LOGIN = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - the name of an option


class LoginConflict(Struct, frozen=True):
    key: str
    """The setting to point at."""
    message: str
    remedy: str


def kafka_contradictions(settings: Mapping[str, Any]) -> Iterator[LoginConflict]:
    """Yield what Java and librdkafka would interpret differently, refuse, or ignore without a word."""
    protocol, mechanism = (settings.get(key) or "" for key in ("security_protocol", "sasl_mechanism"))
    if not isinstance(protocol, Placeholder) and not isinstance(mechanism, Placeholder):
        yield from _login(settings, revealed_text(protocol) or "PLAINTEXT", revealed_text(mechanism))
    for key, other in (
        ("ssl_certificate_location", "ssl_key_location"),
        ("ssl_key_location", "ssl_certificate_location"),
    ):
        if key in settings and other not in settings:
            yield LoginConflict(
                key,
                "a client certificate needs its key, and the key needs its certificate",
                "write both ssl_certificate_location and ssl_key_location",
            )


def oauth_contradictions(settings: Mapping[str, Any]) -> Iterator[LoginConflict]:
    """Yield what librdkafka lacks for OAUTHBEARER; Java's clients may get their tokens in other ways."""
    clients = [settings.get(client) or {} for client in ("admin", "consumer", "producer")]
    if settings.get("sasl_mechanism") == "OAUTHBEARER" and not any(TOKEN_URL in client for client in clients):
        remedy = f"write it in producer:, consumer: and admin: as {TOKEN_URL}: https://…"
        yield LoginConflict("sasl_mechanism", f"OAUTHBEARER needs {TOKEN_URL}", remedy)


def _login(settings: Mapping[str, Any], protocol: str, mechanism: str) -> Iterator[LoginConflict]:
    login_keys = [key for key in settings if key.startswith("sasl_")]
    if not protocol.startswith("SASL_"):
        if login_keys:
            yield LoginConflict(
                login_keys[0],
                f"'{login_keys[0]}' has no effect: clients don't log in with security_protocol {protocol}",
                "write security_protocol: SASL_SSL (or SASL_PLAINTEXT), or remove the option",
            )
        return
    if not mechanism:
        remedy = "write sasl_mechanism: SCRAM-SHA-512, PLAIN, …"
        yield LoginConflict("security_protocol", f"{protocol} needs sasl_mechanism", remedy)
    elif mechanism == "AWS_MSK_IAM":
        yield LoginConflict(
            "sasl_mechanism",
            f"Millstream's own clients don't support {mechanism}",
            "use SCRAM-SHA-512 or OAUTHBEARER; a cluster can support several mechanisms",
        )
    elif mechanism in _WITH_LOGIN and "sasl_jaas_config" not in settings:
        for key in ("sasl_username", "sasl_password"):
            if key not in settings:
                remedy = f"write {key}: \"{{{{ env_var('KAFKA_{key[5:].upper()}') }}}}\""
                yield LoginConflict("sasl_mechanism", f"{mechanism} needs {key}", remedy)


def registry_contradictions(settings: Mapping[str, Any]) -> Iterator[LoginConflict]:
    """Yield what is wrong with the login at a schema registry."""
    if "token" in settings and "username" in settings:
        yield LoginConflict("token", "'token' and 'username' exclude each other", "keep one of them")
    for key, other in (("username", "password"), ("password", "username")):
        if key in settings and other not in settings:
            yield LoginConflict(key, f"a login needs '{other}' too", f"add {other}: …")
    if "key" in settings and "certificate" not in settings:
        yield LoginConflict("key", "'key' needs 'certificate' too", "add certificate: …")
