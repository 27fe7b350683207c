"""Gives Spark's functions the target's schema registry, and the ids of the schemas that sinks write by."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Container, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.engine.spark.jvm import own_class
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.project.values import Project, Topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.kafka.registry.settings import RegistryAddress


class UsedRegistry(Struct, frozen=True):
    address: RegistryAddress | None = None
    written: dict[str, int] = {}
    """The ids of the schemas that sinks write by, by subject."""


@contextmanager
def used_registry(project: Project, catalog: Catalog, sinks: Container[NodeId]) -> Iterator[UsedRegistry]:
    """Yield the registry, if records need it, once it has the schemas that these sinks write by.

    The local one runs until the end.
    """
    if not any(map(_asks, project.topics.values())) and not any(map(_writes, catalog.models.values())):
        yield UsedRegistry()
        return
    from millstream.kafka.registry.client import Registry
    from millstream.kafka.registry.connection import require_address
    from millstream.kafka.registry.local import runs_here
    from millstream.kafka.registry.registering import ids_of, written_schemas
    from millstream.kafka.registry.target import has_local_registry, reachable_registry
    from millstream.project.pins import read_pins

    pins, _ = read_pins(project.schemas.items(), project.settings)
    schemas = written_schemas((spec for spec in catalog.models.values() if spec.id in sinks), project, pins)
    pinned = {name: schema.pinned.id for name, schema in schemas.items() if schema.pinned is not None}
    enough = UsedRegistry(None, pinned) if len(pinned) == len(schemas) else None
    # Pinned schemas need no registry: then the local one can only be asked for ids that are not pinned.
    if enough is not None and has_local_registry(project.target) and not runs_here():
        yield enough
        return
    with reachable_registry(project.target, Path(project.root), pins) as address:
        if address is None and enough is not None:
            yield enough
            return
        if not schemas:
            yield UsedRegistry(address)
            return
        registry_address = require_address(address, project.target)
        with closing(Registry(registry_address)) as registry:
            ids = ids_of(schemas, registry, register=registry_address.settings.get("register") is not False)
        yield UsedRegistry(registry_address, ids)


def uses_of_registry(project: Project, catalog: Catalog) -> frozenset[str]:
    """Return what needs the registry: sources that read by its schemas, and sinks with what they register."""
    asks = {f"source {topic.id}" for topic in project.topics.values() if _asks(topic)}
    writes = {
        f"{spec.id} {spec.columns!r} {spec.materialization!r}"
        for spec in catalog.models.values()
        if _writes(spec)
    }
    return frozenset(asks | writes)


def _asks(topic: Topic) -> bool:
    return bool(topic.format.writers or (topic.key and topic.key.format.writers))


def _writes(spec: ModelSpec) -> bool:
    return any(spec.materialization.subjects)


def use_registry(spark: SparkSession, registry: UsedRegistry) -> None:
    """Set the registry of the functions that are resolved from now on; its login stays in memory."""
    urls, authorization, authority, identity, password = "", "", b"", b"", ""
    if registry.address is not None:
        from millstream.kafka.registry.settings import client_settings, without_login

        settings = client_settings(registry.address)
        addresses = [url.strip().rstrip("/") for url in settings["url"].split(",")]
        urls = ",".join(map(without_login, addresses))
        login = settings.get("basic.auth.user.info") or _login_in(addresses[0])
        if login:
            authorization = f"Basic {b64encode(login.encode()).decode()}"
        if token := settings.get("bearer.auth.token"):
            authorization = f"Bearer {token}"
        if authority_path := settings.get("ssl.ca.location"):
            authority = Path(authority_path).read_bytes()
        if "ssl.certificate.location" in settings:
            password = secrets.token_urlsafe()
            identity = _pkcs12(settings, password)
    own_class(spark, "codecs.Registry").use(
        urls, authorization, bytearray(authority), bytearray(identity), password, registry.written
    )


def _login_in(url: str) -> str:
    parts = urlsplit(url)
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""


def _pkcs12(settings: Mapping[str, str], password: str) -> bytes:
    """Return the client's certificate with its chain and key in the form that Java reads."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        load_pem_private_key,
        pkcs12,
    )
    from cryptography.x509 import load_pem_x509_certificates

    certificate = Path(settings["ssl.certificate.location"]).read_bytes()
    # A file may have both.
    key = Path(settings.get("ssl.key.location", settings["ssl.certificate.location"])).read_bytes()
    secret = settings.get("ssl.key.password")
    private_key: Any = load_pem_private_key(key, secret.encode() if secret else None)
    first, *chain = load_pem_x509_certificates(certificate)
    encryption = BestAvailableEncryption(password.encode())
    return pkcs12.serialize_key_and_certificates(b"millstream", private_key, first, chain, encryption)
