"""A schema registry with Confluent's API."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import msgspec
from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from httpx2 import HTTPError, InvalidURL

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import Location
from millstream.kafka.registry.settings import RegistryAddress, client_settings
from millstream.project.pins import SchemaReference, SchemaVersion, Subject, version_of
from millstream.project.secrets import mask_secrets

_REFUSED = {401, 403, 407}
_UNKNOWN_ID = 40403
_UNKNOWN = {40401, 40402, _UNKNOWN_ID}
_CONFLICT = 409
_INVALID = {42201, 42202, 42203}
_URL = "check the url of schema_registry in profiles.yml"
_OTHER = "choose the target whose registry has the id: --target …"

_NOT_FOUND = 404
_NO_LEVEL = {40401, 40408}
"""Error codes of a subject without a compatibility level of its own."""


@contextmanager
def _direct() -> Iterator[None]:
    """Let the client connect to this machine without a proxy: it reads the environment when it is created."""
    before = os.environ.get("no_proxy")
    hosts = before or os.environ.get("NO_PROXY", "")
    os.environ["no_proxy"] = f"{hosts},127.0.0.1".lstrip(",")
    try:
        yield
    finally:
        if before is None:
            del os.environ["no_proxy"]
        else:
            os.environ["no_proxy"] = before


def _numbers(answer: object) -> frozenset[int]:
    """Check an answer, which the client passes on as it is."""
    return msgspec.convert(answer, frozenset[int])


class Registry:
    """A connection; it is first used by the first question."""

    def __init__(self, address: RegistryAddress) -> None:
        self.address = address
        with report_failures(address, "an answer"), _direct() if address.local else nullcontext():
            self._client = SchemaRegistryClient(client_settings(address))
        self._level: str | None = None

    def close(self) -> None:
        self._client.close()

    def subjects(self, prefix: str) -> list[str]:
        """Return the names of subjects that begin with a prefix."""
        with report_failures(self.address, "its subjects"):
            return sorted(n for n in self._client.get_subjects(subject_prefix=prefix) if n.startswith(prefix))

    def remove(self, name: str) -> None:
        """Remove all versions of a subject for good; other subjects keep schemas that are the same."""
        with report_failures(self.address, f"subject '{name}'"):
            self._client.delete_subject(name)
            self._client.delete_subject(name, permanent=True)

    def subject(self, name: str, location: Location | None = None) -> Subject:
        """Return all versions of a subject, with those that were deleted but still decode records."""
        with report_failures(self.address, f"subject '{name}'", location):
            live = _numbers(self._client.get_versions(name))
            numbers = sorted(live | _numbers(self._client.get_versions(name, deleted=True)))
        versions = [self._version(name, number, location, deleted=number not in live) for number in numbers]
        return Subject(name, self._compatibility(name), tuple(versions))

    def registered(
        self, subject: str, schema: Schema, location: Location | None = None, *, register: bool
    ) -> RegisteredSchema:
        """Return a schema as a subject has it, with its id; with `register`, add it if it is not there."""
        with report_failures(self.address, f"the schema of subject '{subject}'", location):
            try:
                return self._client.lookup_schema(subject, schema)
            except SchemaRegistryError as error:
                if not register or error.http_status_code != _NOT_FOUND:
                    raise
            self._client.register_schema(subject, schema)
            return self._client.lookup_schema(subject, schema)

    def schema(self, schema_id: int) -> SchemaVersion:
        """Return the schema of an id; its version depends on the subject, and is 0."""
        what = f"a schema with the id {schema_id}"
        with report_failures(self.address, what):
            schema = self._client.get_schema(schema_id)
            return self._read(schema, 0, schema_id, what)

    def version_id(self, name: str, number: int, location: Location | None = None) -> int:
        """Return the id of a version."""
        with report_failures(self.address, f"version {number} of subject '{name}'", location):
            (schema_id,) = _numbers([self._client.get_version(name, number).schema_id])
            return schema_id

    def _version(self, name: str, number: int, location: Location | None, *, deleted: bool) -> SchemaVersion:
        what = f"version {number} of subject '{name}'"
        with report_failures(self.address, what, location):
            registered: RegisteredSchema = self._client.get_version(name, number, deleted=deleted)
            (schema_id,) = _numbers([registered.schema_id])
            return self._read(registered.schema, number, schema_id, what, deleted=deleted)

    def _read(
        self, schema: Schema, number: int, schema_id: int, what: str, *, deleted: bool = False
    ) -> SchemaVersion:
        text = schema.schema_str
        if not isinstance(text, str) or not text:
            raise ValueError(text)
        try:
            text.encode()
        except UnicodeEncodeError:
            message = f"{what} is not valid text"
            raise MillstreamError(
                Diagnostic("MS894", message, self.address.location, "fix the schema in the registry")
            ) from None
        references = [
            SchemaReference(str(reference.name), str(reference.subject), int(reference.version or 0))
            for reference in schema.references or ()
        ]
        return version_of(number, schema_id, schema.schema_type or "AVRO", text, references, deleted=deleted)

    def _compatibility(self, name: str) -> str:
        """Return the level of a subject, or else of the whole registry."""
        with report_failures(self.address, f"the compatibility level of subject '{name}'"):
            try:
                return self._client.get_compatibility(name)
            except SchemaRegistryError as error:
                if error.error_code not in _NO_LEVEL:
                    raise
            if self._level is None:
                self._level = self._client.get_compatibility()
            return self._level


@contextmanager
def report_failures(address: RegistryAddress, what: str, location: Location | None = None) -> Iterator[None]:
    """Raise errors as diagnostics; `what` is asked for, `location` is where the project names it."""
    try:
        yield
    except SchemaRegistryError as error:
        raise _answered(address, error, what, location) from None
    except HTTPError as error:
        raise _unreachable(address, _reason(error)) from None
    except (ssl.SSLError, OSError) as error:
        reason = f"a certificate can't be read: {getattr(error, 'reason', None) or error}"
        remedy = "check ca, certificate, key and key_password"
        raise _error(address, "MS895", f"schema_registry: {reason}", remedy) from None
    except InvalidURL as error:
        raise _error(address, "MS895", f"schema_registry: the url is not valid: {error}", _URL) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Whatever answers has another idea of Confluent's API.
        message = f"what answers at {address.shown} is not a schema registry"
        raise _error(address, "MS891", message, _URL) from None


def _answered(
    address: RegistryAddress, error: SchemaRegistryError, what: str, location: Location | None
) -> MillstreamError:
    status, code = error.http_status_code, error.error_code
    text = " ".join(str(error.error_message).split())
    if status in _REFUSED:
        remedy = "check username and password, or token, of schema_registry"
        message = f"the schema registry refuses the login: HTTP {status} from {address.shown}"
        return _error(address, "MS892", message, remedy)
    if code in _UNKNOWN:
        remedy = "register it, or name another `subject`" if code != _UNKNOWN_ID else _OTHER
        message = f"the schema registry at {address.shown} does not have {what}"
        return _error(address, "MS893", message, remedy, location)
    if status == _CONFLICT:
        remedy = "keep the schema compatible, write to another topic, or change the level of the subject"
        message = f"the schema registry refuses {what}: {text}"
        return _error(address, "MS897", message, remedy, location)
    if code in _INVALID:
        message = f"the schema registry finds {what} invalid: {text}"
        return _error(address, "MS894", message, "fix the schema in the registry", location)
    if status == 404:
        message = f"what answers at {address.shown} is not a schema registry: HTTP {status}"
        return _error(address, "MS891", message, _URL)
    message = f"the schema registry failed to return {what}: HTTP {status}, {text}"
    return _error(address, "MS896", message, "see the log of the registry")


def _reason(error: HTTPError) -> str:
    cause = error.__cause__ or error.__context__
    text = str(error) or str(cause or "") or type(error).__name__
    return "it does not answer in time" if "timed out" in text.lower() else text.rstrip(".")


def _unreachable(address: RegistryAddress, reason: str) -> MillstreamError:
    message = f"the schema registry does not answer at {address.shown}: {reason}"
    remedy = "see `millstream broker status`" if address.local else f"{_URL}, and the network"
    if "certificate" in reason.lower():
        remedy = "name the certificates to trust with ca: …"
    return _error(address, "MS891", message, remedy)


def _error(
    address: RegistryAddress, code: str, message: str, remedy: str, location: Location | None = None
) -> MillstreamError:
    location = location or address.location
    return MillstreamError(Diagnostic(code, mask_secrets(message, address.secrets), location, remedy))
