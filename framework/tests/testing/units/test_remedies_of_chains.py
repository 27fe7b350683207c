"""Remedies of unit tests that can't be run, or whose result depends on micro-batches: each is followed."""

import pytest
from support.spark import SPARK_WARNINGS

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]

JOINED = """
    select e.id, n.id as newest from {{ source('web', 'events') }} as e
    join {{ ref('newest') }} as n on n.user = e.user
"""
TEST = """
    - name: t
      model: +{model}
      given:
        - {{input: "source('web', 'events')", rows: [{{user: a, id: 1, value: 3}}]}}{more}
      expect: {expect}
"""


def test_rows_of_a_table_within_the_chain_are_given(shop):
    (shop.root / "models/tested.sql").write_text(JOINED)
    expect = "[{id: 1, newest: 7}]"
    ((code, _, remedy),) = shop.wrong(TEST.format(model="tested", more="", expect=expect))
    assert (code, remedy) == ("MS657", "give the rows of 'newest'")
    rows_given = """
        - {input: "ref('newest')", rows: [{user: a, id: 7}]}"""
    shop.passes(TEST.format(model="tested", more=rows_given, expect=expect))


def test_a_result_that_depends_on_micro_batches(shop):
    test = """
        - name: t
          model: first_users
          given:
            - {input: "source('web', 'events')", rows: [{user: a, kind: x}, {user: b, kind: x}]}
          expect: [{kind: x, user: a}]
    """
    diagnostic, _ = shop.fails(test)
    assert (diagnostic.code, diagnostic.help) == (
        "MS659",
        "make the result independent of micro-batches, or set strict: false",
    )
    shop.passes(test.replace("model: first_users", "model: first_users\n          strict: false"))
    model = shop.root / "models/first_users.sql"
    model.write_text(model.read_text().replace("first(user)", "min(user)"))
    shop.passes(test)
