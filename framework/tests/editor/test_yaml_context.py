"""Where a cursor is in YAML that may be incomplete."""

import pytest

from millstream.editor.values import Cursor
from millstream.editor.yaml_context import yaml_context

MODEL = "models:\n- name: orders\n"


@pytest.mark.parametrize(
    ("text", "path", "key", "typed"),
    [
        ("mo", (), "", "mo"),
        ("models:\n  - na", ("models", "0"), "", "na"),
        ("models:\n- na", ("models", "0"), "", "na"),
        (f"{MODEL}  con", ("models", "0"), "", "con"),
        (f"{MODEL}  config:\n    mat", ("models", "0", "config"), "", "mat"),
        (f"{MODEL}  config:\n    materialized: ", ("models", "0", "config"), "materialized", ""),
        (f"{MODEL}  config: {{materialized: ta", ("models", "0", "config"), "materialized", "ta"),
        (f"{MODEL}  columns:\n  - name: re", ("models", "0", "columns", "0"), "name", "re"),
        (f"{MODEL}  columns:\n  - {{name: re", ("models", "0", "columns", "0"), "name", "re"),
        (f"{MODEL}  columns:\n  - {{name: x, te", ("models", "0", "columns", "0"), "", "te"),
        (f"{MODEL}  columns:\n  - {{name: x, tests: [", ("models", "0", "columns", "0"), "tests", ""),
        (f"{MODEL}  columns:\n  - name: x\n    tests:\n    - ", ("models", "0", "columns", "0", "tests", "0"), "", ""),
        (f"{MODEL}  columns:\n  - name: x\n    tests:\n    - unique\n  des", ("models", "0"), "", "des"),
        (f"{MODEL}# a comment\n\n  tests:\n    - relationships: {{to: x, fi",
         ("models", "0", "tests", "0", "relationships"), "", "fi"),
    ],
)  # fmt: skip
def test_paths_and_keys(text, path, key, typed):
    context = yaml_context(Cursor("x.yml", text, len(text)))
    assert (context.path, context.key, context.typed) == (path, key, typed)


def test_siblings_and_the_relation_around():
    text = f"{MODEL}  columns:\n  - name: id\n    description: x\n    t"
    context = yaml_context(Cursor("x.yml", text, len(text)))
    assert context.siblings == {"name", "description"}
    assert context.relation == "orders"
