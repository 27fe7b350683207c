"""The names that hints consist of, and the remedies for those without a SQL type."""

from millstream.core import types
from millstream.core.types import Type

SCALARS: dict[str, Type] = {
    "builtins.bool": types.BOOLEAN,
    "builtins.int": types.BIGINT,
    "builtins.float": types.DOUBLE,
    "builtins.str": types.STRING,
    "builtins.bytes": types.BINARY,
    "datetime.date": types.DATE,
    "datetime.datetime": types.TIMESTAMP,
    "decimal.Decimal": types.Decimal(38, 18),
}
LISTS = ("builtins.list", "typing.List", "typing.Sequence", "collections.abc.Sequence")
TUPLES = ("builtins.tuple", "typing.Tuple")
DICTS = ("builtins.dict", "typing.Dict", "typing.Mapping", "collections.abc.Mapping")
ROWS = tuple(
    f"{home}.{n}" for home in ("typing", "collections.abc") for n in ("Iterator", "Iterable", "Generator")
)
WRAPPERS = ("typing.Final", "typing.Required", "typing.ReadOnly")
VAGUE = ("typing.Any", "builtins.object")
FORMS = ("typing.Optional", "typing.NotRequired", "typing.Union", "typing.Annotated", "typing.Literal")

REMEDIES = {
    **dict.fromkeys(
        ("builtins.set", "builtins.frozenset", "typing.Set", "typing.FrozenSet", "collections.abc.Set"),
        "use `list[...]`: SQL has no sets.",
    ),
    "datetime.timedelta": "use `int` or `float`, with the unit in the name, such as `delay_seconds`.",
    "datetime.time": "use `str`, or seconds of the day as `int`.",
    "uuid.UUID": "use `str`.",
    "builtins.complex": "use a dataclass with two floats.",
    "builtins.bytearray": "use `bytes`.",
    "typing.Callable": "functions are not values in SQL; call it in the function's body.",
}
HELP = (
    "use bool, int, float, str, bytes, date, datetime, Decimal, list[...], dict[str, ...], "
    "a dataclass, or Annotated[..., 'a SQL type']."
)
KNOWN_HOMES = (
    *SCALARS,
    *FORMS,
    *("typing.Any", "typing.NamedTuple", "typing.TypedDict", "typing.List", "typing.Dict", "typing.Tuple"),
    *("collections.abc.Iterator", "collections.abc.Iterable", "collections.abc.Generator"),
    *("collections.abc.Sequence", "collections.abc.Mapping"),
)
