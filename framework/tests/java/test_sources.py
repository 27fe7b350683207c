"""Only one package of the Java code depends on Spark's internals."""

import re
from pathlib import Path

import millstream
from millstream.engine.spark.functions import SOURCES

INTERNALS = SOURCES / "millstream" / "spark"
_IMPORT = re.compile(r"^import (?:static )?(org\.apache\.spark\.[\w.$]+);", re.MULTILINE)
PUBLIC = re.compile(
    r"org\.apache\.spark\.(api\.java|sql\.(connector|sources|streaming|types)|util\.LongAccumulator$"
    r"|(QueryContext|SparkContext|SparkRuntimeException)$"
    r"|sql\.(Column|Dataset|Encoder|Encoders|Row|RowFactory)$)"
)
VALUES = re.compile(
    r"org\.apache\.spark\.(unsafe\.(Platform|types\.UTF8String)$|sql\.catalyst\.(InternalRow$"
    r"|expressions\.(GenericInternalRow|SpecializedGetters)$"
    r"|util\.(Array|Map|GenericArray|ArrayBasedMap)Data$"
    r"|util\.(DateFormatter|TimestampFormatter|DateTimeUtils)\$?$))"
)
"""Rows that Spark passes to its public interfaces are built from these."""


def test_only_the_package_spark_imports_internals():
    internal = {
        (str(file.relative_to(SOURCES)), name)
        for file in SOURCES.rglob("*.java")
        if INTERNALS not in file.parents
        for name in _IMPORT.findall(file.read_text(encoding="utf-8"))
        if not PUBLIC.match(name) and not VALUES.match(name)
    }
    assert internal == set()


NAMED = re.compile(r"""own_class\(\w[^,]*, "([\w.]+)"\)|\bmillstream\.((?:\w+\.)+[A-Z]\w+)(?=[."$'])""")


def test_python_names_classes_that_exist():
    sources = [file.read_text(encoding="utf-8") for file in Path(millstream.__file__).parent.rglob("*.py")]
    names = {called or named for text in sources for called, named in NAMED.findall(text)}
    assert len(names) > 10
    assert [name for name in sorted(names) if not _source(name).is_file()] == []


def _source(name):
    return SOURCES.joinpath("millstream", *name.split(".")).with_suffix(".java")
