"""Python functions and generators."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS301 Parameter without a type hint
    SQL needs the type of every parameter of a function in `macros/*.py`. Add a hint, such as `x: int` or `x:
    str | None`.
MS302 No hint for the return type
    SQL needs the return type of a function. Add `-> str`, or `-> Iterator[Row]` for a function that yields.
MS303 Hint without a SQL type
    Spark SQL has no type for this hint. Use bool, int, float, str, bytes, date, datetime, Decimal, list,
    dict, a dataclass, TypedDict or NamedTuple of the same file, or `Annotated[X, 'ddl']`.
MS304 Hint is too general
    `Any`, `object`, and a list or dict without element types don't say which SQL type to use. Be specific, as
    in `list[str]`.
MS305 Unknown name in a hint
    The file neither defines nor imports a name that the hint uses. Import or define it; only the file itself
    is read.
MS306 SQL type in Annotated can't be parsed
    The text in `Annotated[X, '...']` is not a type in Spark's DDL. Write it as in `decimal(10,2)` or
    `struct<id: bigint>`.
MS307 Parameter that SQL can't pass
    A call in SQL can't pass `*args`, `**kwargs`, or keyword-only parameters without a default. Name the
    parameters, or give them defaults.
MS308 Async function
    Functions are called row by row and can't wait for an event loop. Write a plain `def`.
MS309 Decorated function
    A decorator may change what a function takes and returns, which is unknown until it runs. Only
    `functools.cache` and `lru_cache` are allowed, and not on a function that yields.
MS310 Python syntax error
    Python can't parse the file. The message is Python's own; fix the syntax at the location that it names.
MS311 Function defined twice
    A file defines two functions with the same name; Python would keep only the last. Rename one.
MS312 Name that SQL can't call
    A function's name consists of lower-case letters, digits and `_`, starts with a letter, and is not a
    reserved word of SQL. Rename the function, or start its name with `_` if it is a helper.
MS313 Struct that contains itself
    The type of a struct must be finite. Store ids instead of the inner values, or JSON as a string.
MS314 Class that is not a struct
    A class in a hint must be a dataclass, TypedDict or NamedTuple. All its fields must be defined in the same
    file, with names that differ in more than case.
MS315 Yield and hint disagree
    A function that yields is a table function and returns `Iterator[X]`; one that doesn't yield returns a
    value. Change one of the two.
MS316 None where NULL is not allowed
    The key of a map, a whole row of a table function, and the iterator itself can't be NULL. Remove the
    `None`.
MS317 Function with keyed state
    A function `(key, rows, state)` takes `rows: Iterator[Row]` and a dataclass as `state`, and yields rows.
MS318 Name of a built-in function
    Spark has a function with this name, and SQL that calls it must mean Spark's.
MS319 Name that queries use for another function
    Queries also call a function `score` as `score_where`, with the condition for calling it, and as
    `score_at`, with what identifies the row. If there is a function `score`, no other function can have these
    names.
MS320 Signature of a generator
    A generator is `def <topic>(random: Random, now: datetime) -> Iterator[tuple[str | None, dict[str, Any] |
    None]]`; further parameters need defaults.
MS321 Generator that yields nothing
    Every public function of `seeds/*.py` is a generator and yields a key and a value for each record. Start
    the names of helpers with `_`.
MS322 Generator defined twice
    A file defines two generators with the same name. Keep one for each topic.
MS323 Content that can change unnoticed
    Queries are checked for changes of a function's text, of the modules that it imports and of the files that
    it opens under a path that is written there, such as `Path(__file__).parent / "rates.csv"`. What `exec`
    and `eval` run, and what is read or imported under a computed name, is unknown. Write the name as a text,
    or rebuild the models that call the function when the content changes.
MS324 Module that does not exist
    A file in `macros/` or `seeds/` imports a module of the project, or a name from one, that does not exist.
    The import would fail when the file is first used. Fix the name, or add the module. Relative imports
    (`from . import x`) don't work there: write the folder's name. Imports within `try` and `if` are not
    checked, nor are those of libraries.
MS325 Function that can't run natively
    YAML says `runs: native` of this function, but it contains something that isn't translated to code for the
    JVM. The error points to it. Write it in another way, or remove `runs: native`: the function then runs in
    Python, with the same results.
MS326 Signature of a function that writes batches
    A function with a parameter `pyarrow.Table`, `pandas.DataFrame` or `millstream.Batch` writes batches of
    rows: its signature is `(rows: pyarrow.Table, batch: millstream.Batch) -> None`, or the same with
    `pandas.DataFrame`.
""")
