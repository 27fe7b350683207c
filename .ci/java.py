"""Checks the Java code: `uv run python .ci/java.py`, which needs a JDK.

It is formatted by google-java-format (`--fix` formats it), compiled with all warnings as errors, and its
tests in `framework/tests/java` run on JUnit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from millstream.engine.spark.functions import SOURCES, class_path
from millstream.local.jars import catalog_in, fetch_jars
from millstream.local.java import find_java

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "framework" / "tests" / "java"
OTHERS = (
    ROOT / "benchmarks" / "peers" / "kafka_streams",
    ROOT / "framework" / "tests" / "support" / "opensearch",
)
"""Formatted, but compiled by what runs it."""
LINT = "-Xlint:all,-path,-processing,-serial"
"""`path` is about other people's jars, `processing` about their annotations. Objects are sent between JVMs
that have the same jar, so a serial version that Java computes of the class is right."""
EXPORTS = [
    option
    for package in ("api", "code", "file", "parser", "tree", "util")
    for option in ("--add-exports", f"jdk.compiler/com.sun.tools.javac.{package}=ALL-UNNAMED")
]
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def run(*command: str | Path) -> bool:
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def format_sources(formatter: Path, files: Sequence[Path], *, fix: bool) -> bool:
    options = ["--replace"] if fix else ["--dry-run", "--set-exit-if-changed"]
    is_formatted = run(find_java().program, *QUICK, *EXPORTS, "-jar", formatter, *options, *files)
    if not is_formatted:
        print("these files are not formatted: `uv run python .ci/java.py --fix` formats them")
    return is_formatted


def compile_sources(files: Sequence[Path], libraries: Sequence[Path], folder: Path) -> bool:
    """Compile with javac, whose warnings the compiler of users' machines (ecj) does not give."""
    arguments = folder.with_suffix(".arguments")
    paths = os.pathsep.join(map(str, libraries))
    arguments.write_text("\n".join(f'"{argument}"' for argument in ("-cp", paths, "-d", folder, *files)))
    compiler = find_java().program.with_name("javac")
    options = ("--release", "17", "-proc:none", LINT, "-Werror", "-encoding", "UTF-8", f"@{arguments}")
    return run(compiler, *(f"-J{option}" for option in QUICK), *options)


def main(fix: bool) -> int:
    catalog = catalog_in(ROOT / ".ci" / "jars.toml")
    jars = fetch_jars(list(catalog), catalog=catalog)
    sources, tests = sorted(SOURCES.rglob("*.java")), sorted(TESTS.rglob("*.java"))
    others = [file for folder in OTHERS for file in sorted(folder.rglob("*.java"))]
    if not format_sources(jars["format"][0], [*sources, *tests, *others], fix=fix):
        return 1
    with tempfile.TemporaryDirectory(prefix="millstream-java-") as folder:
        libraries = [*class_path(), *jars["tests"]]
        classes = Path(folder, "classes")
        if not compile_sources([*sources, *tests], libraries, classes):
            return 1
        return 0 if run_tests(jars["tests"][0], [classes, *libraries]) else 1


def run_tests(junit: Path, libraries: Sequence[Path]) -> bool:
    paths = os.pathsep.join(map(str, libraries))
    command = (
        find_java().program,
        *QUICK,
        "-cp",
        f"{junit}{os.pathsep}{paths}",
        "org.junit.platform.console.ConsoleLauncher",
    )
    options = (
        "--disable-banner",
        "--details=summary",
        "--fail-if-no-tests",
        f"--scan-classpath={libraries[0]}",
    )
    return run(*command, "execute", *options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--fix"]))
