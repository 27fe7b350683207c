"""Connection and login of clients: one description of a target, for Java and for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from millstream.core.errors import Diagnostic, MillstreamError, os_reason
from millstream.kafka.cluster import Cluster, Options, Value, option_text
from millstream.project.logins import (
    KAFKA,
    TOKEN_URL,
    LoginConflict,
    kafka_contradictions,
    oauth_contradictions,
)
from millstream.project.secrets import Secret

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

_BOTH = {
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanism",
    "ssl_key_password": "ssl.key.password",
}
_JAVA = {
    "ssl_truststore_location": "ssl.truststore.location",
    "ssl_truststore_password": "ssl.truststore.password",
    "ssl_truststore_type": "ssl.truststore.type",
    "ssl_keystore_location": "ssl.keystore.location",
    "ssl_keystore_password": "ssl.keystore.password",
    "ssl_keystore_type": "ssl.keystore.type",
}
_LIBRDKAFKA = {
    "ssl_ca_location": "ssl.ca.location",
    "ssl_certificate_location": "ssl.certificate.location",
    "ssl_key_location": "ssl.key.location",
}
_PEM = {
    "ssl_ca_location": ("ssl.truststore.certificates", "ssl.truststore.type"),
    "ssl_certificate_location": ("ssl.keystore.certificate.chain", "ssl.keystore.type"),
    "ssl_key_location": ("ssl.keystore.key", "ssl.keystore.type"),
}
"""Java's options for the contents of a PEM file, which reach a cluster's workers, and the store's type."""
_LOGIN = {
    "OAUTHBEARER": {
        "sasl.login.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
        )
    },
    "AWS_MSK_IAM": {
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    },
}
_CREDENTIALS = {
    "OAUTHBEARER": ("clientId", "clientSecret"),
    "PLAIN": ("username", "password"),
    "SCRAM-SHA-256": ("username", "password"),
    "SCRAM-SHA-512": ("username", "password"),
}


def java_security(cluster: Cluster) -> Options:
    """Return the connection's settings under the names of Java's clients."""
    settings = cluster.settings
    _check(settings)
    options: Options = {
        name: _value(settings[key])
        for key, name in (_BOTH | _JAVA).items()
        if settings.get(key) not in {None, ""}
    }
    for key in ("ssl_truststore_location", "ssl_keystore_location"):
        # The store may only exist on a cluster's workers.
        if settings.get(key) and (path := Path(_path(cluster, key))).exists():
            options[_JAVA[key]] = str(path)
    for key, (name, type_) in _PEM.items():
        if settings.get(key) and not (key == "ssl_ca_location" and settings.get("ssl_truststore_location")):
            options[name] = Secret(_pem(cluster, key))
            options[type_] = "PEM"
    if "ssl_endpoint_identification_algorithm" in settings:
        check = option_text(settings["ssl_endpoint_identification_algorithm"])
        options["ssl.endpoint.identification.algorithm"] = "" if check == "none" else check
    if (mechanism := _mechanism(settings)) is not None:
        options |= _LOGIN.get(mechanism, {})
        if settings.get("sasl_jaas_config"):
            options["sasl.jaas.config"] = Secret(option_text(settings["sasl_jaas_config"]))
        elif mechanism in MODULES:
            options["sasl.jaas.config"] = Secret(
                jaas_config(MODULES[mechanism], _credentials(settings, mechanism))
            )
    return options


def librdkafka_security(cluster: Cluster) -> Options:
    """Return the connection's settings under the names of librdkafka."""
    settings = cluster.settings
    _check(settings)
    options: Options = {name: _value(settings[key]) for key, name in _BOTH.items() if settings.get(key)}
    options |= {name: _path(cluster, key) for key, name in _LIBRDKAFKA.items() if settings.get(key)}
    if "ssl_endpoint_identification_algorithm" in settings:
        options["ssl.endpoint.identification.algorithm"] = (
            option_text(settings["ssl_endpoint_identification_algorithm"]) or "none"
        )
    _stores(cluster, options)
    match _mechanism(settings):
        case None:
            pass
        case "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" as mechanism:
            credentials = _credentials(settings, mechanism)
            options |= {
                "sasl.username": credentials["username"],
                "sasl.password": Secret(credentials["password"]),
            }
        case "OAUTHBEARER":
            options |= _oidc(settings)
        case "GSSAPI":
            login = jaas_options(option_text(settings.get("sasl_jaas_config") or ""))
            pairs = (("sasl.kerberos.keytab", "keyTab"), ("sasl.kerberos.principal", "principal"))
            options |= {name: login[option] for name, option in pairs if option in login}
        case mechanism:
            raise AssertionError(mechanism)
    return options


def _stores(cluster: Cluster, options: Options) -> None:
    """Use Java's stores if librdkafka can read them."""
    settings = cluster.settings
    if settings.get("ssl_truststore_location") and not settings.get("ssl_ca_location"):
        if _type(settings, "ssl_truststore_type") != "PEM":
            _unfit(
                "Millstream's own clients can't read a Java trust store",
                "add the certificates as a PEM file, ssl_ca_location: …, which you can create with "
                "`keytool -list -rfc -keystore STORE > ca.pem`",
            )
        options["ssl.ca.location"] = _path(cluster, "ssl_truststore_location")
    if settings.get("ssl_keystore_location") and not settings.get("ssl_certificate_location"):
        location = _path(cluster, "ssl_keystore_location")
        match _type(settings, "ssl_keystore_type"):
            case "PEM":
                options |= {"ssl.certificate.location": location, "ssl.key.location": location}
            case "PKCS12":
                options["ssl.keystore.location"] = location
                options["ssl.keystore.password"] = _value(settings.get("ssl_keystore_password") or "")
            case _:
                _unfit(
                    "Millstream's own clients can't read a key store in Java's own format",
                    "convert it with `keytool -importkeystore -deststoretype PKCS12 …` and write "
                    "ssl_keystore_type: PKCS12",
                )


def _oidc(settings: Mapping[str, Any]) -> Options:
    credentials = _credentials(settings, "OAUTHBEARER")
    options = [settings.get(client) or {} for client in ("admin", "consumer", "producer")]
    _refuse(oauth_contradictions(settings))
    url = next(
        option_text(client_options[TOKEN_URL]) for client_options in options if TOKEN_URL in client_options
    )
    oidc: Options = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": credentials["clientId"],
        "sasl.oauthbearer.client.secret": Secret(credentials["clientSecret"]),
        TOKEN_URL: url,
    }
    return oidc | ({"sasl.oauthbearer.scope": credentials["scope"]} if "scope" in credentials else {})


def _mechanism(settings: Mapping[str, Any]) -> str | None:
    if not option_text(settings.get("security_protocol") or "").startswith("SASL_"):
        return None
    return option_text(settings["sasl_mechanism"])


def _credentials(settings: Mapping[str, Any], mechanism: str) -> dict[str, str]:
    if mechanism not in _CREDENTIALS:
        return {}
    names = _CREDENTIALS[mechanism]
    credentials = (
        jaas_options(option_text(settings["sasl_jaas_config"])) if settings.get("sasl_jaas_config") else {}
    )
    for name, key in zip(names, ("sasl_username", "sasl_password"), strict=True):
        if settings.get(key) is not None:
            credentials[name] = option_text(settings[key])
        elif name not in credentials:
            _unfit(
                f"{mechanism} needs {key}", f"write {key}: \"{{{{ env_var('KAFKA_{key[5:].upper()}') }}}}\""
            )
    return credentials


def _check(settings: Mapping[str, Any]) -> None:
    """Refuse settings that Java and librdkafka would interpret differently."""
    _refuse(kafka_contradictions({key: value for key, value in settings.items() if value is not None}))


def _refuse(contradictions: Iterator[LoginConflict]) -> None:
    for contradiction in contradictions:
        _unfit(contradiction.message, contradiction.remedy)


def _pem(cluster: Cluster, key: str) -> str:
    path = Path(_path(cluster, key))
    try:
        pem = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else "it is not a text file"
        _unfit(f"'{key}' can't be read: {reason}", f"{path} must be an existing PEM file")
    if key == "ssl_key_location" and "PRIVATE KEY" in pem and "RSA PRIVATE" in pem:
        _unfit(
            "Java's clients can't read a private key in PKCS#1 format",
            "convert it: `openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW`",
        )
    return pem


def _path(cluster: Cluster, key: str) -> str:
    return str(Path(cluster.root, option_text(cluster.settings[key])))


def _type(settings: Mapping[str, Any], key: str) -> str:
    return option_text(settings.get(key) or "JKS").upper()


def _value(value: Any) -> Value:
    return value if isinstance(value, Secret) else option_text(value)


def _unfit(message: str, remedy: str) -> NoReturn:
    raise MillstreamError(Diagnostic(KAFKA, message, None, remedy))


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
