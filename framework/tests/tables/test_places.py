"""Where tables and checkpoints live."""

import pytest

from millstream.errors import MillstreamError
from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.tables.places import Delta, Postgres, checkpoints_of, delta_of, place_of, postgres_of

URL = "postgresql://db:5432/shop"


def target(**settings):
    return Target("shop", "local", settings)


def test_by_default_below_the_project_by_target(tmp_path):
    own = f"{tmp_path}/.millstream/local"
    assert delta_of(target(), tmp_path) == Delta(f"{own}/tables")
    assert checkpoints_of(target(), tmp_path) == f"{own}/checkpoints"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("s3a://shop/tables", "s3a://shop/tables"),
        ("file:/data/tables", "file:/data/tables"),
        ("/data/tables", "/data/tables"),
        ("data/tables", "{root}/data/tables"),
        (Secret("/data/tables"), "/data/tables"),
    ],
)
def test_where_the_target_says(tmp_path, given, found):
    expected = found.format(root=tmp_path)
    assert delta_of(target(tables={"path": given}), tmp_path).path == expected
    assert checkpoints_of(target(checkpoints=given), tmp_path) == expected


@pytest.mark.parametrize(
    ("relation", "folder"),
    [("model.totals", "s3a://x/totals"), ("source.shop.products", "s3a://x/_sources/shop.products")],
)
@pytest.mark.parametrize("base", ["s3a://x", "s3a://x/"])
def test_each_table_has_a_folder(relation, folder, base):
    assert Delta(base).place_of(relation) == folder


def test_the_option_of_a_model_comes_before_the_targets(tmp_path):
    tables = {"url": URL}
    assert isinstance(place_of("model.a", {}, target(tables=tables), tmp_path), Delta)
    assert isinstance(place_of("model.a", {"store": "postgres"}, target(tables=tables), tmp_path), Postgres)
    tables = {"store": "postgres", "url": URL}
    assert isinstance(place_of("model.a", {}, target(tables=tables), tmp_path), Postgres)
    assert isinstance(place_of("model.a", {"store": "delta"}, target(tables=tables), tmp_path), Delta)


def test_reference_topics_are_always_in_delta(tmp_path):
    found = place_of("source.shop.products", {}, target(tables={"store": "postgres", "url": URL}), tmp_path)
    assert isinstance(found, Delta)


def test_a_model_in_postgresql_needs_one(tmp_path):
    with pytest.raises(MillstreamError, match=r"MS841: the table 'totals'.* 'local' names none"):
        place_of("model.totals", {"store": "postgres"}, target(), tmp_path)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"url": URL}, Postgres(URL)),
        ({"url": URL, "username": "u", "password": Secret("p"), "database_schema": "s"}, Postgres(URL, "u", "p", "s")),
        ({"url": Secret("postgresql://u:p%40ss@db:5432/shop")}, Postgres(URL, "u", "p@ss")),
        ({"url": "jdbc:postgresql://db:5432/shop?user=u&password=p&sslmode=require"}, Postgres(f"{URL}?sslmode=require", "u", "p")),
        ({"url": "postgresql://u:p@db:5432/shop", "username": "v", "password": "q"}, Postgres(URL, "v", "q")),
        ({"url": "postgresql:///shop"}, Postgres("postgresql:///shop")),
        ({}, None),
    ],
)  # fmt: skip
def test_the_database(settings, expected):
    assert postgres_of(target(tables=settings)) == expected


def test_a_password_is_never_shown():
    for given in ("hush", Secret("hush")):
        assert "hush" not in repr(Postgres(URL, "u", given))
    assert "hush" not in repr(postgres_of(target(tables={"url": "postgresql://u:hush@db/shop"})))
