"""The bare floor of compiling a project: Jinja, then sqlglot's parse, qualify and annotate, in one process.

No YAML, no functions, no lineage, no errors with places, no manifest: what any tool must at least spend.

    python benchmarks/floor.py FOLDER
"""

import sys
from graphlib import TopologicalSorter
from pathlib import Path

import jinja2
import sqlglot
import yaml
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema


def main(folder: Path) -> None:
    environment = jinja2.Environment(keep_trailing_newline=True)
    refs: set[str] = set()

    def ref(name: str) -> str:
        refs.add(name)
        return name

    functions = {
        "ref": ref,
        "source": lambda source, topic: f"{source}_{topic}",
        "config": lambda **_: "",
        "var": lambda _, default=None: default,
    }
    for path in sorted((folder / "macros").glob("*.sql")):
        module = environment.from_string(path.read_text()).make_module(functions)
        functions |= {name: value for name, value in vars(module).items() if not name.startswith("_")}
    sql: dict[str, str] = {}
    parents: dict[str, set[str]] = {}
    for path in sorted((folder / "models").rglob("*.sql")):
        refs = set()
        sql[path.stem] = environment.from_string(path.read_text()).render(functions)
        parents[path.stem] = refs
    schema = MappingSchema(dialect="spark")
    for path in sorted((folder / "models").rglob("*.yml")):
        for source in (yaml.load(path.read_text(), Loader=yaml.CSafeLoader) or {}).get("sources", ()):
            for topic in source["topics"]:
                columns = {column["name"]: column["type"] for column in topic["columns"]}
                if key := topic.get("key"):
                    columns[key["name"]] = key.get("type", "string")
                schema.add_table(f"{source['name']}_{topic['name']}", columns, dialect="spark")
    for name in TopologicalSorter(parents).static_order():
        tree = sqlglot.parse_one(sql[name], dialect="spark")
        tree = annotate_types(qualify(tree, schema=schema, dialect="spark"), schema=schema, dialect="spark")
        columns = {column.alias_or_name: column.type or "string" for column in tree.selects}
        schema.add_table(name, columns, dialect="spark")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
