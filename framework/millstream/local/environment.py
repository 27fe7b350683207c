"""Chooses what child processes see of the environment: what they need, and no secrets of others."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_JAVA = frozenset(
    {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "LD_LIBRARY_PATH"}
)
_SPARK = frozenset(
    {
        "LOGNAME", "SHELL", "TERM", "VIRTUAL_ENV", "JDK_JAVA_OPTIONS", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    }
)  # fmt: skip
_OF_SPARK = (
    "SPARK_", "PYSPARK_", "_PYSPARK_", "PYTHON", "HADOOP_", "YARN_", "KUBERNETES_", "KRB5",
    "OMP_", "OPENBLAS_", "MKL_", "ARROW_",
    # Clients of object stores find their credentials there, unless `spark:` has them.
    "AWS_", "AZURE_", "GOOGLE_",
)  # fmt: skip

_GIT = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "TERM", "LD_LIBRARY_PATH",
        "XDG_CONFIG_HOME",
        "SUDO_UID",  # whose repositories root trusts
        # A partial clone fetches missing files: its server may ask for a key, a password or a proxy.
        "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY",
        "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME", "GPG_TTY", "KRB5CCNAME", "KRB5_CONFIG",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    }
)  # fmt: skip
_OF_GIT = ("GIT_", "VSCODE_GIT_", "LC_")


def for_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what git, its helpers and transports need."""
    return {name: value for name, value in environment.items() if name in _GIT or name.startswith(_OF_GIT)}


def for_java(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a server in Java needs."""
    return {name: value for name, value in environment.items() if name in _JAVA or name.startswith("LC_")}


def for_spark(environment: Mapping[str, str], declared: Collection[str]) -> dict[str, str]:
    """Return what Spark and its Python workers need, and the variables that the project declares."""
    variables = for_java(environment)
    for name, value in environment.items():
        if name in _SPARK or name in declared or name.startswith(_OF_SPARK):
            variables[name] = value
    return variables
