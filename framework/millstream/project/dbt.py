"""Words of dbt that have no counterpart by their name: what to write instead."""

from __future__ import annotations

_NO_QUERIES = "a template can't query: what depends on rows belongs in the SQL, and constants in `vars`"

NAMES = {
    "is_incremental": "remove this block: each batch only reads records that are new",
    "adapter": _NO_QUERIES,
    "execute": "remove it: templates are only rendered to compile, and never query",
    "graph": "use `ref` and `source`",
    "run_query": _NO_QUERIES,
    "statement": _NO_QUERIES,
    "load_result": _NO_QUERIES,
    "dbt_utils": "packages of dbt are not read; copy the macro to macros/, or use Spark's function",
    "dbt": "macros of dbt's adapters are not read; use Spark's function",
}
"""Names in templates."""

SNAPSHOT = (
    "write a model: {{ config(materialized='table', unique_key='…', versions='all') }}, then its SELECT"
)

TAGS = {
    "test": "write {% macro NAME(model, column_name) %} … {% endmacro %} in macros/, and tests: [NAME]",
    "snapshot": SNAPSHOT,
    "materialization": "remove it: `materialized` is view, table or sink",
}
"""Tags in templates; NAME stands for the name that follows the tag."""

_NO_HOOKS = "remove it: a model is its SELECT, and nothing runs before or after it"

OPTIONS = {
    "alias": "rename the file; for the topic of a sink, use `topic`",
    "cluster_by": "remove it: rows of tables are not clustered",
    "contract": "remove it: a review compares columns and types; tests check rows",
    "database": "set where tables are stored in profiles.yml: `tables`",
    "full_refresh": "use the command `millstream build --full-refresh`, which removes tables and state first",
    "grants": "grant access in Kafka and in the tables' store",
    "incremental_strategy": "remove it: a table with `unique_key` updates rows by their key",
    "on_schema_change": "remove it: `millstream apply` fills columns that are new",
    "partition_by": "remove it: tables have no partitions; a sink has `key` and `partitions`",
    "post_hook": _NO_HOOKS,
    "pre_hook": _NO_HOOKS,
}
"""Options of models."""
