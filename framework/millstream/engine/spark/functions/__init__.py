"""SQL functions that Millstream adds to Spark: Java sources, compiled once per machine for its Spark."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyspark

from millstream.core.atomic import replace_file
from millstream.local.environment import for_java
from millstream.local.jars import Progress, fetch_jars, jars_folder
from millstream.local.jars.cache import is_marked, mark_verified, not_writable
from millstream.local.java import find_java

EXTENSIONS = "millstream.spark.Extensions"
"""The class that adds them to a session."""
SOURCES = Path(__file__).with_name("java")
_COMPILER = "compiler"
_KAFKA = "kafka"
"""The sink with transactions uses Kafka's producer."""
_RELEASE = "17"
_PART_OF_JAVA = "stax-api-"
"""Its packages are also Java's own, which the compiler refuses."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of all entries: equal sources make equal jars."""


def functions_jar(progress: Progress | None = None) -> Path:
    """Return the jar of the functions; compile it if the cache has none for these sources and this Spark."""
    sources = sorted(SOURCES.rglob("*.java"))
    file = jars_folder() / f"millstream-functions-{_digest(sources)}.jar"
    if _is_whole(file):
        return file
    compiler = fetch_jars([_COMPILER], progress)[_COMPILER][0]
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        _compile(compiler, class_path(progress), sources, Path(folder))
        content = _jar(Path(folder))
    try:
        replace_file(file, content, mode=0o644)
    except OSError as error:
        raise not_writable(file.parent, error) from None
    mark_verified(file)
    return file


def class_path(progress: Progress | None = None) -> list[Path]:
    """Return the jars that the functions are compiled with: Spark's, and those of its Kafka connector."""
    jars = (Path(pyspark.__file__).parent / "jars").glob("*.jar")
    spark = sorted(jar for jar in jars if not jar.name.startswith(_PART_OF_JAVA))
    return [*spark, *fetch_jars([_KAFKA], progress)[_KAFKA]]


def _digest(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256(pyspark.__version__.encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _is_whole(file: Path) -> bool:
    if is_marked(file):
        return True
    try:
        with zipfile.ZipFile(file) as jar:
            is_intact = jar.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False
    if is_intact:
        mark_verified(file)
    return is_intact


def _compile(compiler: Path, libraries: Iterable[Path], sources: Sequence[Path], folder: Path) -> None:
    arguments = folder / "arguments"
    paths = ":".join(map(str, libraries))
    arguments.write_text("\n".join(f'"{argument}"' for argument in ("-cp", paths, *map(str, sources))))
    options = [f"-{_RELEASE}", "-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", str(folder / "classes")]
    command = [str(find_java().program), "-jar", str(compiler), *options, f"@{arguments}"]
    subprocess.run(command, env=for_java(os.environ), check=True, capture_output=True, text=True)  # noqa: S603


def _jar(folder: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as jar:
        for file in sorted((folder / "classes").rglob("*.class")):
            entry = zipfile.ZipInfo(file.relative_to(folder / "classes").as_posix(), _EPOCH)
            jar.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()
