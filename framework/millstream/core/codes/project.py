"""MS1xx: files, settings, YAML, seeds."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS101 No project found
    Neither this folder nor any folder above it has a pyproject.toml with `[tool.millstream]`.
MS102 File can't be read
    The file is missing, is a folder, or is not readable; or it is a link that leads out of the repository,
    or to a hidden file. Or its name ends almost like that of a file of the project: `orders.SQL`,
    `orders.sql.txt` and `orders.sql.j2` are not read, so rename them to `orders.sql`.
MS103 Wrong encoding
    All files of a project must be UTF-8 (a byte order mark is allowed).
MS104 TOML syntax
    pyproject.toml can't be parsed.
MS105 YAML syntax
    The file is not plain YAML: bad indentation, a tab, an unclosed quote, or a tag.
MS106 Unknown key
    This key does not exist here; the message suggests the nearest one.
MS107 Wrong value
    The value has the wrong type, or is not one of the allowed values.
MS108 Missing key
    A required key is missing.
MS109 Duplicate name
    Two models, sources, seeds, functions or columns have the same name.
MS110 Invalid name
    Names consist of letters, digits and `_`; some are reserved by Millstream. The
    names of columns can have other characters but backticks and line breaks.
MS111 Duplicate key
    A mapping in a YAML file has the same key twice; YAML would silently drop the first.
MS112 Unknown profile or target
    profiles.yml does not have this profile, or the profile does not have this output.
MS113 Secret in the wrong place
    Secrets come from `env_var()` in profiles.yml. Elsewhere they would be written to compiled SQL, so SQL and
    other YAML read only environment variables that `env-vars` in `[tool.millstream]` lists.
MS114 Environment variable not set
    `env_var()` without a default needs this variable.
MS115 Invalid variables
    `--vars` and MILLSTREAM_VARS must be YAML mappings of names to values.
MS116 Empty file
    The model's file is empty.
MS117 Description of something that does not exist
    YAML or a generator names something that the project does not have.
MS118 Seed can't be read
    The CSV file has rows of different lengths, bad quoting, or a value that does not fit its column's type.
MS119 File too large
    Files of a project may have at most 10 MB; store data elsewhere.
MS120 Invalid option
    A model does not have this option, or the option does not allow this value.
MS121 Option of another materialization
    The option only applies to another materialization.
MS122 Schema can't be found
    A topic names a schema that does not exist, or that does not belong to its format.
MS123 Schema without columns
    A topic's schema has an error, has fields that no column can hold, or contradicts its columns.
MS124 Column that does not fit a schema
    A column of a sink is not in its schema, has another type there, or can be NULL and there not.
MS125 Schema not pinned
    A topic takes its columns from a schema registry, but the project has no copy of that schema: compiling
    needs no network. Run `millstream schemas pull`, and commit the files that it writes.
MS126 Schema of another format
    A subject's schema is of another type than the topic's `format`, or of a type that can't be decoded. If
    `format` is omitted, a topic has the format of its schema.
MS127 Pinned schema can't be read
    A file of pinned schemas was changed by hand or damaged. Remove it, and run `millstream schemas pull`.
MS128 Incompatible schema
    The schema of a sink is not compatible with the pinned versions of its topic's subject, as the subject's
    compatibility level demands: readers would fail, and the registry would refuse it. The message names the
    field and the readers.
MS129 Function that can't be a format
    The function of `format: python:…` does not exist, or its type hints don't fit: one that decodes takes
    `bytes` and returns a dataclass, a TypedDict or a NamedTuple, and one that encodes takes such a row and
    returns `bytes`. Functions of keys may also return, or take, a single value.
MS130 Invalid name of an environment
    The name of an isolated environment is part of the names of its topics, folders and database schemas: at
    most 40 lower-case letters and digits, with single `-` or `_` between them.
MS131 Kind of source not installed
    A package adds this kind of source, and is not installed in this environment.
MS132 No function that writes the rows
    A model with `materialized='python'` names the function that gets its rows in `write`. The project has no
    function of this name, or one that SQL calls: it must take `(rows: pyarrow.Table, batch:
    millstream.Batch)`.
""")
