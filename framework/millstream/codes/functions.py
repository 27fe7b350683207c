"""Python functions and generators."""

from millstream.codes import Code

CODES = {
    "MS301": Code(
        "parameter without a hint",
        "SQL needs the type of every parameter of a function in `macros/*.py`. Write a hint, such as "
        "`x: int` or `x: str | None`.",
    ),
    "MS302": Code(
        "no hint of what is returned",
        "SQL needs the type of what a function returns. Write `-> str`, or `-> Iterator[Row]` for a "
        "function that yields.",
    ),
    "MS303": Code(
        "hint without a type in SQL",
        "The hint is no type that Spark SQL has. Use bool, int, float, str, bytes, date, datetime, "
        "Decimal, list, dict, a dataclass, TypedDict or NamedTuple of the same file, or `Annotated[X, "
        "'ddl']`.",
    ),
    "MS304": Code(
        "hint that says too little",
        "`Any`, `object`, or a list or dict without the types of what it holds, doesn't say which "
        "type SQL gets. Say it, such as `list[str]`.",
    ),
    "MS305": Code(
        "unknown name in a hint",
        "The hint names something that the file neither defines nor imports. Import or define it; "
        "only the file itself is read.",
    ),
    "MS306": Code(
        "SQL type in Annotated can't be read",
        "The text in `Annotated[X, '...']` is no type of Spark's DDL. Write it as in `decimal(10,2)` "
        "or `struct<id: bigint>`.",
    ),
    "MS307": Code(
        "parameter that SQL can't give",
        "`*args`, `**kwargs` and keyword-only parameters without a default can't be given by a call "
        "in SQL. Name the parameters, or give defaults.",
    ),
    "MS308": Code(
        "async function",
        "Functions are called row by row and can't wait for an event loop. Write a plain `def`.",
    ),
    "MS309": Code(
        "decorated function",
        "A decorator may change what a function takes and returns, which can't be seen without "
        "running it. Only `functools.cache` and `lru_cache` may stay, and not on a function that "
        "yields.",
    ),
    "MS310": Code(
        "Python syntax error",
        "Python can't read the file. The message is Python's own; mend the syntax at the place it names.",
    ),
    "MS311": Code(
        "function defined twice",
        "A file defines two functions of one name, of which Python would keep the last. Rename one.",
    ),
    "MS312": Code(
        "name that SQL can't call",
        "A function's name must be lower case letters, digits and `_`, start with a letter, and be no "
        "reserved word of SQL. Rename the function, or start its name with `_` if it is a helper.",
    ),
    "MS313": Code(
        "struct that contains itself",
        "A struct's type must be finite. Keep ids instead of the inner values, or JSON as a string.",
    ),
    "MS314": Code(
        "class that is no struct",
        "A class in a hint must be a dataclass, TypedDict or NamedTuple whose fields all stand in the "
        "same file, with names that differ in more than case.",
    ),
    "MS315": Code(
        "yield and hint disagree",
        "A function that yields is a table function and returns `Iterator[X]`; one that doesn't yield "
        "returns a value. Change one of the two.",
    ),
    "MS316": Code(
        "None where NULL can't be",
        "The key of a map, a whole row of a table function and its iterator can't be NULL. Leave out "
        "the `None`.",
    ),
    "MS317": Code(
        "function with keyed state",
        "A function `(key, rows, state)` takes `rows: Iterator[Row]` and a dataclass as `state`, and "
        "yields rows.",
    ),
    "MS318": Code(
        "name of a built-in function",
        "Spark has a function of this name, and SQL that calls it must mean that one.",
    ),
    "MS319": Code(
        "name that queries give to another function",
        "Queries call a function `score` as `score_where` and `score_at`, too: with what says for which rows, or which "
        "row it is. Where there is a function `score`, another one can't have these names.",
    ),
    "MS320": Code(
        "signature of a generator",
        "A generator is `def <topic>(random: Random, now: datetime) -> Iterator[tuple[str | None, "
        "dict[str, Any] | None]]`; further parameters need defaults.",
    ),
    "MS321": Code(
        "generator that yields nothing",
        "Every public function of `seeds/*.py` is a generator and yields a key and a value per "
        "record. Start the names of helpers with `_`.",
    ),
    "MS322": Code(
        "generator defined twice",
        "A file defines two generators of one name. Keep one for a topic.",
    ),
}
