"""Converts Kafka's errors to diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterable

from confluent_kafka import KafkaError

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.cluster import Cluster, option_text
from millstream.project.secrets import Secret, mask_secrets

_AUTHENTICATION = frozenset((
    "_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM",
    "ILLEGAL_SASL_STATE",
))  # fmt: skip
_PERMISSION = {
    "TOPIC_AUTHORIZATION_FAILED": "permission on the topic (Describe, and Read, Write or Create)",
    "CLUSTER_AUTHORIZATION_FAILED": "permission on the cluster (Create, Describe)",
    "GROUP_AUTHORIZATION_FAILED": "permission on the consumer group (Read, Describe)",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "permission on the transactional id (Write)",
}
_SILENCE = frozenset((
    "_TRANSPORT", "_RESOLVE", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_MSG_TIMED_OUT", "_TIMED_OUT_QUEUE",
    "REQUEST_TIMED_OUT",
))  # fmt: skip
_TOO_LARGE = frozenset(("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"))
_BROKER = re.compile(r"^(?:\[thrd:[^\]]*\]: )?(?:\S*://)?\S+?/(?:bootstrap|\d+): ")
_DURATION = re.compile(r" \((?:after|in) \d+ms(?:[^()]|\([^()]*\))*\)")
"""What librdkafka adds, such as ` (after 0ms in state CONNECT, 3 identical error(s) suppressed)`."""


def is_authentication(error: KafkaError) -> bool:
    return error.name() in _AUTHENTICATION


def is_permission(error: KafkaError) -> bool:
    return error.name() in _PERMISSION


def cluster_error(
    cluster: Cluster, error: KafkaError, doing: str, errors: Iterable[KafkaError] = ()
) -> MillstreamError:
    """Return the error to raise; `errors` are those that the client reported before."""
    reported = list(errors)
    if (refused := next(filter(is_authentication, [error, *reported]), None)) is not None:
        return login_error(cluster, refused)
    if is_permission(error):
        user = cluster.settings.get("sasl_username")
        whom = "" if user is None or isinstance(user, Secret) else f" for '{option_text(user)}'"
        remedy = f"request {_PERMISSION[error.name()]}{whom}"
        return _error(cluster, "MS824", f"not permitted: {doing}", remedy)
    if error.name() in _TOO_LARGE:
        message = f"a record is larger than Kafka accepts: {doing}: {error_text(cluster, error)}"
        remedy = "set max.request.size under producer:, and max.message.bytes of the topic"
        return _error(cluster, "MS835", message, remedy)
    if error.name() in _SILENCE:
        return silence_error(cluster, reported or [error])
    return _error(cluster, "MS829", f"{doing}: {error_text(cluster, error)}", "see the log of the broker")


def silence_error(cluster: Cluster, errors: Iterable[KafkaError]) -> MillstreamError:
    """Return the error for a cluster that does not answer."""
    reasons = [e for e in errors if e.name() != "_ALL_BROKERS_DOWN"]
    why = f": {error_text(cluster, reasons[-1])}" if reasons else ""
    servers = str(cluster.bootstrap_servers)
    where = "the address from the environment" if isinstance(cluster.bootstrap_servers, Secret) else servers
    remedy = "check bootstrap_servers, and that security_protocol fits the cluster's port"
    if cluster.embedded:
        remedy = "see `millstream broker status`"
    return _error(cluster, "MS822", f"Kafka does not answer at {where}{why}", remedy)


def login_error(cluster: Cluster, error: KafkaError) -> MillstreamError:
    reason = error_text(cluster, error)
    if error.name() == "_SSL" or "ssl" in reason.lower():
        remedy = "check security_protocol, and name the certificates to trust with ssl_ca_location"
    else:
        remedy = "check sasl_mechanism, sasl_username and sasl_password"
    return _error(cluster, "MS823", f"Kafka refuses the login: {reason}", remedy)


def error_text(cluster: Cluster, error: KafkaError) -> str:
    """Return Kafka's own text, without secrets and internals of librdkafka."""
    message = _DURATION.sub("", _BROKER.sub("", error.str()))
    return mask_secrets(" ".join(message.split()), cluster.secrets).rstrip(".")


def _error(cluster: Cluster, code: str, message: str, remedy: str) -> MillstreamError:
    return MillstreamError(Diagnostic(code, mask_secrets(message, cluster.secrets), None, remedy))
