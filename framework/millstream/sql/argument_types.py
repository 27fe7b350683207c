"""The words for arguments in `spark_functions`: which types each takes, and to which Spark casts them.

Spark: `AnsiTypeCoercion.implicitCast`, with each expression's `inputTypes` and `checkInputDataTypes`.
"""

from functools import cache

from msgspec import Struct

from millstream.core.types import (
    NULL,
    STRING,
    UNKNOWN,
    Array,
    Decimal,
    Map,
    Row,
    Simple,
    Type,
    has_equality,
    parse_type,
)
from millstream.sql.casts import can_cast

_GROUPS = {
    "integers": "tinyint smallint int bigint",
    "numbers": "tinyint smallint int bigint float double decimal",
    "real": "float double decimal",
    "times": "date timestamp timestamp_ntz",
    "plain": "boolean tinyint smallint int bigint float double decimal string binary date timestamp "
    "timestamp_ntz interval",
}

_WORDS = """
any : a value : plain variant array map struct
array : an array : array >  > array<void>
bits : a whole number or a boolean : integers boolean
boolean : a boolean : boolean > string > boolean
bytes : bytes or a text : string binary >  > string
binary : bytes : binary >  > binary
bound : a number or an interval : numbers interval > string > double
collation : the name of a collation : string >  > string
collection : an array or a map : array map
condition : a condition : boolean >  > boolean
container : an array or a map : array map
count : a number : > numbers string > int
date : a date or a timestamp : date > timestamp timestamp_ntz string > date
dated : a text or a time : boolean string binary times interval > variant > timestamp
day : a date : date >  > date
days : a number of days : tinyint smallint int > string > int
displayed : a number or a time : integers decimal times > float double string > decimal(38,18)
double : a number : > numbers string > double
duration : an interval : interval
element : an element of the array : plain variant array map struct
encoding : a format : string >  > string
exact : a double : double >  > double
fixed : a number : numbers > string > decimal(38,18)
format : a number of digits or a format : int string >  > int
fraction : a number between 0 and 1 : array > numbers string > double
hashable : a value without maps : plain variant array struct
hashed : a whole number, a text or bytes : int bigint string binary >  > string
hexed : a number, a text or bytes : boolean integers string binary times interval > real variant > bigint
index : a whole number : tinyint smallint int >  > int
int : a number : > numbers string > int
exactint : a number : int >  > int
integer : a whole number : integers >  > bigint
jsonable : a struct, an array, a map or a variant : struct array map variant
key : a key : plain array struct
letter : a character : string >  > string
level : a unit : string > plain variant > string
list : a text or an array of texts : array > plain variant > string
long : a number : > numbers string > bigint
map : a map : map
measure : a number or an interval : numbers interval > string > double
moment : a date or a timestamp : timestamp timestamp_ntz > date string > timestamp
nested : an array, a map or a struct : array map struct
ntz : a date or a timestamp : timestamp_ntz > date timestamp string > timestamp_ntz
number : a number : numbers > string > double
numberformat : a format : string >  > string
numeric : a number : numbers >  > double
operand : a number : numbers string >  > double
factor : a number or an interval : numbers interval string >  > double
options : a map of options : map
ordered : a value that can be ordered : plain array struct >  > string
picture : a format : plain > variant > string
part : the name of a part : string >  > string
precision : a number : float double decimal >  > double
record : a struct or a variant : struct variant
reversible : a text or an array : array string binary > boolean numbers times interval variant > string
row : a struct : struct
schema : a schema : string struct
seconds : a number of seconds : > numbers string > decimal(16,6)
shifted : a number : bigint > tinyint smallint int float double decimal string > int
size : a positive whole number : tinyint smallint int >  > int
sketched : a whole number, a text or bytes : integers string binary >  > string
spread : a number, a time or an interval : numbers times interval > string > double
stamp : a timestamp : timestamp timestamp_ntz >  > timestamp
string : a text : string > plain variant > string
struct : a struct : struct
text : a text : string >  > string
textual : a text or bytes : string binary > boolean numbers times interval variant > string
time : a date or a timestamp : times string >  > timestamp
timed : a date, a timestamp or an interval : times interval > string > timestamp
timestamp : a date or a timestamp : timestamp > date timestamp_ntz string > timestamp
top : a plain value : boolean numbers string times >  > string
total : a number or an interval : numbers interval timestamp > string > double
typename : the name of a type : string >  > string
utc : a timestamp : timestamp >  > timestamp
variant : a variant : variant >  > variant
vector : an array of floats : array >  > array<float>
"""
"""Lines of: the word, what it is called, the kinds of types that it takes > those that are cast > to which.

A cast in the remedy of an error goes to the same type.
"""

_ANY = frozenset(("common", "comparable", "default", "member", "same", "concat", "lambda", "unit"))
"""Words whose arguments are compared with each other (`argument_relations`), or are not values."""


class ArgumentType(Struct, frozen=True):
    noun: str
    plain: frozenset[str]
    """The kinds of types that stay as they are."""
    casts: frozenset[str]
    """The kinds of types that Spark casts."""
    target: Type | None


@cache
def _words() -> dict[str, ArgumentType]:
    words: dict[str, ArgumentType] = {}
    for line in _WORDS.strip().splitlines():
        name, noun, kinds = (part.strip() for part in line.split(":"))
        plain, casts, target = (*f" {kinds} ".split(" > "), "", "")[:3]
        words[name] = ArgumentType(
            noun, _kinds(plain), _kinds(casts), parse_type(target.strip()) if target.strip() else None
        )
    return words


def _kinds(text: str) -> frozenset[str]:
    return frozenset(" ".join(_GROUPS.get(kind, kind) for kind in text.split()).split())


def cast_to(word: str, type_: Type) -> Type:
    """Return the type that an argument has after Spark's implicit cast."""
    if word.startswith("array<"):
        word = "array"
    accepted = _words().get(word)
    if accepted is None or accepted.target is None:
        return type_
    if type_ == UNKNOWN:
        return type_ if accepted.target == STRING else accepted.target
    concrete = bool(accepted.casts) or len(accepted.plain) == 1
    return accepted.target if type_kind(type_) in accepted.casts or (concrete and type_ == NULL) else type_


def accepts_type(word: str, type_: Type) -> bool:
    """Return whether an argument of this type fits a word; of `array<word>`, its elements do."""
    if type_ in {UNKNOWN, NULL} or word in _ANY:
        return True
    if word.startswith("array<"):
        return isinstance(type_, Array) and accepts_type(word[6:-1], type_.element)
    if type_kind(type_) not in _words()[word].plain | _words()[word].casts:
        return False
    match word:
        case "ordered" | "key":
            return has_equality(type_)
        case "hashable":
            return not _has_map(type_)
        case "list":
            return not isinstance(type_, Array) or accepts_type("string", type_.element)
        case "numbers" | "fraction":
            return not isinstance(type_, Array) or accepts_type("double", type_.element)
        case "vector":
            return isinstance(type_, Array) and type_.element == parse_type("float")
        case _:
            return True


def type_kind(type_: Type) -> str:
    match type_:
        case Simple(name=name):
            return name
        case Decimal():
            return "decimal"
        case Array():
            return "array"
        case Map():
            return "map"
        case Row():
            return "struct"


def _has_map(type_: Type) -> bool:
    match type_:
        case Array(element=element):
            return _has_map(element)
        case Row(fields=fields):
            return any(_has_map(field.type) for field in fields)
        case _:
            return isinstance(type_, Map)


def type_noun(word: str) -> str:
    """Return what a word is called in messages."""
    if not word.startswith("array<"):
        return _words()[word].noun
    inner = word[6:-1]
    elements = {
        "string": "texts",
        "array": "arrays",
        "struct": "structs",
        "ordered": "values that can be ordered",
    }
    return f"an array of {elements[inner]}"


def cast_for(word: str, type_: Type) -> Type | None:
    """Return the type that a cast can convert an argument to, so that it fits; None if there is none."""
    accepted = _words().get(word)
    target = parse_type(word) if word == "array<string>" else accepted.target if accepted else None
    if target == Array(NULL):
        return None
    return target if target is not None and can_cast(type_, target) and accepts_type(word, target) else None
