"""The catalog that Millstream ships."""

import re

import pytest

from millstream.local.jars import jars_of, read_catalog
from millstream.stores.registry import jar_files


def test_features():
    assert set(read_catalog()) == {"kafka", "broker", "compiler", "registry", "s3", "avro", *jar_files()}


@pytest.mark.parametrize("jar", jars_of(read_catalog(), read_catalog()), ids=lambda jar: jar.coordinates)
def test_a_jar_is_exact(jar):
    assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256)
    assert jar.size > 0
    assert re.fullmatch(r"[\w.-]*\d[\w.-]*", jar.version)


def test_no_two_jars_have_one_name():
    names = [jar.name for jar in jars_of(read_catalog(), read_catalog())]
    assert len(names) == len(set(names))


def test_where_a_jar_lies():
    (jar,) = read_catalog()["postgres"]
    assert jar.path == f"org/postgresql/postgresql/{jar.version}/postgresql-{jar.version}.jar"
