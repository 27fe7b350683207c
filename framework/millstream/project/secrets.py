"""Texts that can't be printed."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from typing import Any, NoReturn

MASK = "****"
_SECRET = re.compile(r"PASSWORD|PASSWD|SECRET|TOKEN|CREDENTIAL|PRIVATE_KEY|API_KEY", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Tell from the name of an environment variable or setting whether it holds a secret."""
    return bool(_SECRET.search(name))


class Secret:
    """A text that shows as `****` wherever it is printed; `reveal` gives it to the client that needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret can't be pickled")


def mask(text: str, secrets: Iterable[Secret]) -> str:
    """Blot out every secret in a text, the longest first."""
    for found in sorted((secret.reveal() for secret in secrets), key=len, reverse=True):
        if found:
            text = text.replace(found, MASK)
    return text


def secrets_in(value: Any) -> list[Secret]:
    """Return every secret inside settings."""
    if isinstance(value, Secret):
        return [value]
    if isinstance(value, dict):
        return [found for each in value.values() for found in secrets_in(each)]
    if isinstance(value, list | tuple):
        return [found for each in value for found in secrets_in(each)]
    return []
