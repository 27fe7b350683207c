"""Tables over tables that read a view, which can't be read at rest: each remedy is tried."""

import pytest
from support.shops import Shop

from millstream.compile import compile_project
from millstream.stores.tables.relations import missing_table, relations_in

PRODUCTS = """
      - name: products
        key: {name: sku, type: string}
        columns: [{name: name, type: string}]
        table: true
"""
VIEWS = {
    "over_seed": "select sku, price * 2 as double from {{ ref('prices') }}",
    "over_topic": "select sku, upper(name) as name from {{ source('web', 'products') }}",
}
STORED, VIEW = "{{ ref('stored') }} as s", "{{ ref('VIEW') }} as v"
TABLE = "{{{{ config(materialized='table', unique_key='{}'{}) }}}} "
READERS = {
    "group": ("kind", f"select s.kind, max(v.sku) as m from {STORED} left join {VIEW} on s.kind = v.sku group by s.kind"),
    "member": ("id", f"select s.id from {STORED} where s.kind in (select v.sku from {VIEW})"),
    "exists": ("id", f"select s.id from {STORED} where exists (select 1 from {VIEW} where v.sku = s.kind)"),
    "right": ("sku", f"select v.sku, count(s.id) as n from {STORED} right join {VIEW} on s.kind = v.sku group by v.sku"),
    "first": ("sku", f"select v.sku, count(s.id) as n from {VIEW} left join {STORED} on s.kind = v.sku group by v.sku"),
    "union": ("k", f"select s.kind as k from {STORED} union select v.sku as k from {VIEW}"),
    "window": ("id", f"select s.id, count(*) over (partition by v.sku) as n from {STORED} join {VIEW} on s.kind = v.sku"),
    "full": ("kind", f"select s.kind, count(*) as n from {STORED} join {VIEW} on s.kind = v.sku group by s.kind"),
}  # fmt: skip
AS_TABLE = "make 'over_topic' a table with config(materialized='table', unique_key='sku')"
AS_CTE = "write the SQL of 'over_seed' as a CTE of this model"


@pytest.fixture
def project(tmp_path):
    shop = Shop(tmp_path, "")
    shop.more(PRODUCTS)
    shop.write("seeds/prices.csv", "sku,price\na,1\nb,2\n")
    shop.model("stored", TABLE.format("id", "") + "select id, kind from {{ source('web', 'events') }}")
    for name, sql in VIEWS.items():
        shop.model(name, sql)
    return shop


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", READERS)
def test_a_table_that_needs_a_view_at_rest(project, view, name):
    key, sql = READERS[name]
    config, sql = TABLE.format(key, ", refresh='full'" if name == "full" else ""), sql.replace("VIEW", view)
    project.model(name, config + sql)
    (diagnostic,) = compile_project(project.root).diagnostics
    notes = [(note.message, note.location.path) for note in diagnostic.notes]
    assert (diagnostic.location.path, notes) == (f"models/{name}.sql", [(f"'{view}'", f"models/{view}.sql")])
    assert diagnostic.help == (AS_TABLE if view == "over_topic" else AS_CTE)
    if view == "over_topic":
        project.model(view, TABLE.format("sku", "") + VIEWS[view])
    else:
        ref = f"{{{{ ref('{view}') }}}}"
        project.model(name, f"{config} with {view} as ({VIEWS[view]}) {sql.replace(ref, view)}")
    assert compile_project(project.root).diagnostics == ()


@pytest.mark.parametrize("options", ["", ", refresh='full'"])
def test_a_table_that_only_reads_seeds_is_a_view(project, options):
    sql = "select v.sku, count(*) as n from {{ ref('over_seed') }} as v group by v.sku"
    project.model("reader", TABLE.format("sku", options) + sql)
    (diagnostic,) = compile_project(project.root).diagnostics
    assert "set materialized='view'" in diagnostic.help
    project.model("reader", "{{ config(materialized='view') }} " + sql)
    compiled = compile_project(project.root)
    assert compiled.diagnostics == ()
    # It can't be queried then, and a table is no remedy.
    remedy = missing_table("reader", relations_in(compiled.manifest.nodes.values())).help
    assert remedy == "see its rows with `millstream show reader`, or query what it reads: prices"
