"""MS4xx: SQL."""

from millstream.codes import Code

CODES = {
    "MS401": Code("SQL syntax", "The SQL can't be read. The caret stands where reading stopped."),
    "MS402": Code("Unknown column", "No relation in scope has a column of this name."),
    "MS403": Code(
        "Ambiguous column", "Several relations in scope have this column: write which one, `orders.id`."
    ),
    "MS404": Code(
        "Unknown relation",
        "A table is named that is neither a CTE nor came from `ref()` or `source()`. Millstream must know "
        "every input, so write `{{ ref('name') }}` or `{{ source('source', 'topic') }}`.",
    ),
    "MS405": Code("Unknown function", "Neither Spark nor a file of `macros/` has a function of this name."),
    "MS406": Code("Wrong number of arguments", "The function takes another number of arguments."),
    "MS407": Code("Wrong type", "An operator or function can't take a value of this type."),
    "MS408": Code(
        "Duplicate column",
        "Two columns of the result have one name (Spark does not tell upper from lower case).",
    ),
    "MS409": Code("Column without a name", "Every computed column of a model needs `as name`."),
    "MS410": Code(
        "Not one SELECT", "A model is one query: a SELECT, UNION or WITH … SELECT, without `;` after it."
    ),
    "MS411": Code(
        "Neither grouped nor aggregated",
        "With GROUP BY, every column must be a group key or stand inside an aggregate.",
    ),
    "MS412": Code("Sets of different columns", "The sides of a UNION must have the same number of columns."),
    "MS413": Code(
        "Ambiguous relation",
        "Two relations of one FROM have the name that stands before a column: give one an alias of its own.",
    ),
    "MS414": Code(
        "Columns not known",
        "The SQL is not understood, so its columns are not known: declare them with types in YAML.",
    ),
    "MS415": Code(
        "Aggregate not allowed here", "WHERE, JOIN … ON and GROUP BY are evaluated before any aggregate."
    ),
}
