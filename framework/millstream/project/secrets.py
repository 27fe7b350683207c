"""Texts that can't be printed."""

from __future__ import annotations

import hmac
import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NoReturn
from urllib.parse import quote, quote_plus

MASK = "****"
_SECRET = re.compile(
    r"PASSWORD|PASSWD|SECRET|TOKEN|CREDENTIAL|WEBHOOK|(PRIVATE|API|ACCOUNT|KEYSTORE)[._-]?KEY|JAAS",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"(url|uri|mechanism|enabled|location|path|file|type|algorithm|protocol|provider|class|ms|seconds)\Z",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@"  # ://user:password@host
    r"|[?&;](?:password|passwd|pwd|secret|token)=[^&;\s]+"  # ?password=…
    r"|-D\S*(?:password|secret|token)\S*=\S+",  # -Djavax.net.ssl.trustStorePassword=…
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable or setting of this name holds a secret."""
    return bool(_SECRET.search(name))


def misplaced_variable(name: str, declared: Collection[str]) -> tuple[str, str] | None:
    """Return why SQL and YAML can't read an environment variable, and the remedy.

    No list of names covers all secrets, so a project declares the variables that its SQL may show.
    """
    if is_secret_name(name):
        return f"'{name}' is a secret and would end up in compiled SQL", "read secrets in profiles.yml only"
    if name in declared:
        return None
    remedy = f'if it is not a secret, add it to [tool.millstream]: env-vars = ["{name}"]'
    return f"environment variable '{name}' is not declared, and would end up in compiled SQL", remedy


def is_secret_setting(name: str, text: str) -> bool:
    """Return whether a setting holds a secret: by its name, or as an address that contains a password."""
    if _CREDENTIALS.search(text):
        return True
    # `sasl.oauthbearer.token.endpoint.url` only names where tokens are.
    return is_secret_name(name) and not _NO_SECRET.search(name) and text.lower() not in {"", "true", "false"}


class Secret:
    """A text that is printed as `****`; `reveal` returns it for the client that needs it.

    JSON and msgpack can't write it, and it can't be pickled: a mistake is an error, not a leak.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    # Jinja's sandbox does not call functions with this mark.
    reveal.unsafe_callable = True  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        # In constant time; surrogates stand for bytes of the environment that are not UTF-8.
        return isinstance(other, Secret) and hmac.compare_digest(_bytes(self), _bytes(other))

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret can't be pickled")


class Placeholder(Secret):
    """The value of a setting whose environment variable is not set, for commands that connect to nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("")


def revealed_text(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else str(value)


def _bytes(secret: Secret) -> bytes:
    return secret.reveal().encode(errors="surrogatepass")


def mask_secrets(text: str, secrets: Iterable[Secret]) -> str:
    """Mask every secret in a text, the longest first, also in the escaped forms of JSON and addresses."""
    forms: set[str] = set()
    for secret in secrets:
        if revealed := secret.reveal():
            plain = revealed.encode(errors="surrogatepass").decode(errors="replace")
            forms |= {revealed, quote(plain, safe=""), quote_plus(plain)}
            forms |= {json.dumps(revealed, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


SHORTEST = 4
"""Shorter values of secret environment variables are not masked: they would make texts unreadable."""


def secrets_of_environment() -> list[Secret]:
    """Return the values of the environment variables that hold secrets, by their names."""
    return [
        Secret(value) for name, value in os.environ.items() if is_secret_name(name) and len(value) >= SHORTEST
    ]


def secrets_in(value: Any) -> list[Secret]:
    """Return every secret inside settings."""
    if isinstance(value, Secret):
        return [value]
    if isinstance(value, dict):
        return [secret for inner in value.values() for secret in secrets_in(inner)]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [secret for inner in value for secret in secrets_in(inner)]
    return []
