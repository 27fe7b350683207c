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


def for_java(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a server in Java needs."""
    return {name: value for name, value in environment.items() if name in _JAVA or name.startswith("LC_")}


def for_spark(environment: Mapping[str, str], declared: Collection[str]) -> dict[str, str]:
    """Return what Spark and its Python workers need, and the variables that the project declares."""
    found = for_java(environment)
    for name, value in environment.items():
        if name in _SPARK or name in declared or name.startswith(_OF_SPARK):
            found[name] = value
    return found
