"""How this process reaches S3: as the target says it to Spark, or else as the environment says it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from millstream.project.secrets import revealed_text
from millstream.project.spark_settings import flatten_settings

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

S3 = "s3a://"
"""What addresses in S3 start with, as Hadoop writes them."""
_HADOOP = "spark.hadoop.fs.s3a."
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_NAMES = {  # of Hadoop, of Arrow, of delta-rs, of pyiceberg
    "endpoint.region": ("region", "AWS_REGION", "s3.region"),
    "access.key": ("access_key", "AWS_ACCESS_KEY_ID", "s3.access-key-id"),
    "secret.key": ("secret_key", "AWS_SECRET_ACCESS_KEY", "s3.secret-access-key"),
    "session.token": ("session_token", "AWS_SESSION_TOKEN", "s3.session-token"),
}


def arrow_s3(settings: Mapping[str, Any]) -> S3FileSystem:
    """Return Arrow's client; `settings` are those of a target."""
    from pyarrow.fs import S3FileSystem

    options = _options(settings, 0)
    if address := _endpoint(settings):
        parts = urlsplit(address)
        options |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    return S3FileSystem(**options)


def delta_options(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of delta-rs for tables in S3."""
    options = _options(settings, 1)
    if address := _endpoint(settings):
        options |= {"AWS_ENDPOINT_URL": address}
        options |= {"AWS_ALLOW_HTTP": "true"} if address.startswith("http://") else {}
    return options


def iceberg_options(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of pyiceberg for tables in S3."""
    address = _endpoint(settings)
    return _options(settings, 2) | ({"s3.endpoint": address} if address else {})


def _options(settings: Mapping[str, Any], client: int) -> dict[str, str]:
    spark = _spark(settings)
    return {names[client]: spark[key] for key, names in _NAMES.items() if spark.get(key)}


def _endpoint(settings: Mapping[str, Any]) -> str:
    """Return where S3 is, if it is not Amazon's: as the target says it to Spark, or in the environment."""
    from_environment = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    address = _spark(settings).get("endpoint") or from_environment
    return address if "://" in address or not address else f"https://{address}"


def _spark(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the target's settings of Hadoop's client, with the login in clear text."""
    return {
        name.removeprefix(_HADOOP): revealed_text(value)
        for name, value in flatten_settings(settings.get("spark") or {})
        if name.startswith(_HADOOP)
    }
