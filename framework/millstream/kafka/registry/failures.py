"""Converts errors of a registry's client to diagnostics."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.schema_registry.error import SchemaRegistryError
from httpx2 import HTTPError, InvalidURL

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import Location
from millstream.kafka.registry.settings import Address
from millstream.project.secrets import mask

_REFUSED = {401, 403, 407}
_UNKNOWN_ID = 40403
_UNKNOWN = {40401, 40402, _UNKNOWN_ID}
_CONFLICT = 409
_INVALID = {42201, 42202, 42203}


@contextmanager
def reporting(address: Address, what: str, location: Location | None = None) -> Iterator[None]:
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


_URL = "check the url of schema_registry in profiles.yml"
_OTHER = "choose the target whose registry has the id: --target …"


def _answered(
    address: Address, error: SchemaRegistryError, what: str, location: Location | None
) -> MillstreamError:
    status, code = error.http_status_code, error.error_code
    said = " ".join(str(error.error_message).split())
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
        message = f"the schema registry refuses {what}: {said}"
        return _error(address, "MS897", message, remedy, location)
    if code in _INVALID:
        message = f"the schema registry finds {what} invalid: {said}"
        return _error(address, "MS894", message, "fix the schema in the registry", location)
    if status == 404:
        message = f"what answers at {address.shown} is not a schema registry: HTTP {status}"
        return _error(address, "MS891", message, _URL)
    message = f"the schema registry failed to return {what}: HTTP {status}, {said}"
    return _error(address, "MS896", message, "see the log of the registry")


def _reason(error: HTTPError) -> str:
    cause = error.__cause__ or error.__context__
    text = str(error) or str(cause or "") or type(error).__name__
    return "it does not answer in time" if "timed out" in text.lower() else text.rstrip(".")


def _unreachable(address: Address, reason: str) -> MillstreamError:
    message = f"the schema registry does not answer at {address.shown}: {reason}"
    remedy = "see `millstream broker status`" if address.local else f"{_URL}, and the network"
    if "certificate" in reason.lower():
        remedy = "name the certificates to trust with ca: …"
    return _error(address, "MS891", message, remedy)


def _error(
    address: Address, code: str, message: str, remedy: str, location: Location | None = None
) -> MillstreamError:
    location = location or address.location
    return MillstreamError(Diagnostic(code, mask(message, address.secrets), location, remedy))
