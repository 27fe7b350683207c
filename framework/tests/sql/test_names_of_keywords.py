"""Sources, models and columns may be called as words of SQL."""

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.expressions import quote_name

WORDS = sorted({word.lower() for word in Spark.Tokenizer.KEYWORDS if word.isidentifier()})
SOURCE = """
sources:
  - name: {}
    topics: [{{name: {}, key: {{name: id, type: string}}, columns: [{{name: v, type: bigint}}]}}]
"""


@pytest.mark.parametrize("word", WORDS)
def test_a_quoted_name_is_one(word):
    name = quote_name(word)
    for sql in (f"select * from sources.{name}.t", f"select * from models.{name}", f"select {name} from t"):
        assert isinstance(sqlglot.parse_one(sql, dialect="spark"), exp.Select)


@pytest.mark.parametrize(("source", "topic"), [("drop", "select"), ("app", "values"), ("order", "from")])
def test_sources_and_models_have_names_of_keywords(tmp_path, source, topic):
    root = project(tmp_path, {
        "table": f"select id, v from {{{{ source('{source}', '{topic}') }}}}",
        "values": "select id, v from {{ ref('table') }}",
    })  # fmt: skip
    (root / "models/keywords.yml").write_text(SOURCE.format(source, topic))
    compiled = compile_project(root, use_cache=False)
    assert compiled.diagnostics == ()
    assert compiled.manifest.nodes["model.values"].depends_on == ("model.table",)
