"""Databases that can't be reached or refuse rows, and stores without changes: what the remedy says, done."""

import pytest
from msgspec.structs import replace
from stores.test_databases import store as store  # noqa: PLC0414 - a fixture
from stores.test_databases import stored, table

from millstream.core.errors import MillstreamError
from millstream.project.secrets import Secret
from millstream.stores.databases.table import create_table

OPTIONS = {
    "postgres": "url, username and password",
    "mysql": "mysql_url, mysql_username and mysql_password",
}
EXAMPLES = {"postgres": "url: postgresql://host:5432/name", "mysql": "mysql_url: mysql://host:3306/name"}


def refused(call, *arguments):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


def test_a_password_that_is_wrong_and_a_batch_that_is_refused(database, store):
    output = table()
    wrong = replace(database.schema, url="host:none/shop")
    remedy = f"write {EXAMPLES[database.store]} in `tables:` of profiles.yml"
    assert refused(create_table, wrong, output) == ("MS846", remedy)
    wrong = replace(database.schema, password=Secret("wrong"))
    remedy = f"start it, or fix {OPTIONS[database.store]} of `tables:` in profiles.yml"
    assert refused(create_table, wrong, output) == ("MS846", remedy)
    create_table(database.schema, output)
    database.rows("alter table totals add constraint small check (total < 10)")
    code, remedy = refused(store, output, [("ann", 1), ("bob", 10)], 0)
    assert (code, remedy) == (
        "MS855",
        "fix the cause; no row of the batch was stored, and it is stored again at the next start",
    )
    assert stored(database, output) == []
    database.rows("alter table totals drop constraint small")
    store(output, [("ann", 1), ("bob", 10)], 0)
    assert stored(database, output) == [("ann", 1), ("bob", 10)]
    assert database.rows(
        "select table_name from information_schema.tables where table_schema = 'Shop' order by 1"
    ) == [("millstream_batches",), ("totals",)]
