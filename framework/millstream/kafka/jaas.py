"""JAAS: the login configuration of Java's clients, as one text."""

from __future__ import annotations

import re
from collections.abc import Mapping

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    "AWS_MSK_IAM": "software.amazon.msk.auth.iam.IAMLoginModule",
}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_OPTION = re.compile(r'([\w.\-]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|\'((?:\\.|[^\'\\])*)\'|([^\s;"]+))', re.DOTALL)


def jaas_config(module: str, options: Mapping[str, str]) -> str:
    """Return `module required name="value";`, quoted as java.io.StreamTokenizer reads it."""
    parts = "".join(f' {name}="{_quoted(value)}"' for name, value in options.items())
    return f"{module} required{parts};"


def jaas_options(config: str) -> dict[str, str]:

    return {
        match[1]: match[4]
        if match[4] is not None
        else _unquoted(match[2] if match[2] is not None else match[3])
        for match in _OPTION.finditer(config)
    }


def _quoted(value: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in value)


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", lambda match: _UNESCAPED.get(match[1], match[1]), value, flags=re.DOTALL)
