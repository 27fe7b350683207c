"""Names that SQL can call: not reserved words, not names of types."""

import re

_WORDS = """
all alter analyze and anti any array as begin between bigint binary boolean both by cache case cast char
check collate column commit constraint copy create cross cube current_date current_time
current_timestamp current_user date decimal delete desc describe distinct div double drop else end
escape except exists explain extract false fetch filter float for foreign from full function grant group
grouping having if ilike in inner insert int intersect interval into is join kill lateral leading left
like limit load lock map merge minus natural not null on only or order out outer over overlaps overlay
partition pivot position primary qualify references refresh replace revoke right rlike rollback rollup
rows select semi session_user set show smallint some string struct substring table tablesample then time
timestamp tinyint to trailing trim true truncate uncache union unique unknown unnest unpivot update use
using values varchar when where window with within
"""
RESERVED = frozenset(_WORDS.split())


def usable(name: str) -> bool:
    """Return whether SQL can call a function by this name without quotes."""
    return re.fullmatch(r"[a-z][a-z0-9_]*", name) is not None and name not in RESERVED


def suggestion(name: str) -> str:
    """Return a usable name similar to this one: `parseUserId` → `parse_user_id`, `select` → `select_of`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    snake = re.sub(r"[^a-z0-9_]", "", snake).strip("_")
    if not re.match("[a-z]", snake):
        snake = f"f_{snake}".rstrip("_")
    return f"{snake}_of" if snake in RESERVED else snake
