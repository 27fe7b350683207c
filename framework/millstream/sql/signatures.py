"""The signatures of Spark's functions, parsed from the table in `spark_functions`."""

import re
from functools import cache

from msgspec import Struct

from millstream.sql.spark_functions import OTHERS, TABLE


class SignatureParameter(Struct, frozen=True):
    word: str
    """A word of `millstream.sql.argument_types`."""
    optional: bool = False
    repeated: bool = False
    constant: bool = False
    nulls: bool = True
    """Whether a NULL literal is an argument."""
    alike: bool = False
    """Whether all such arguments need a common type."""


Form = tuple[SignatureParameter, ...]
"""One list of parameters; `dateadd` has two."""


class FunctionSignature(Struct, frozen=True):
    name: str
    forms: tuple[Form, ...]
    result: str
    aggregate: bool = False
    window: bool = False
    generator: bool = False
    deterministic: bool = True
    raises: bool = False
    nullable: str = "arguments"
    """A rule of `millstream.sql.nullability`."""

    def takes(self, count: int) -> Form | None:
        """Return a parameter for each of so many arguments; None if the function takes more or fewer."""
        for form in self.forms:
            least, most = _arity(form)
            if least <= count and (most is None or count <= most):
                return (*form, *form[-1:] * (count - len(form)))[:count]
        return None

    @property
    def least(self) -> int:
        return min(_arity(form)[0] for form in self.forms)

    @property
    def most(self) -> int | None:
        most = [_arity(form)[1] for form in self.forms]
        return None if None in most else max(count for count in most if count is not None)


def _arity(form: Form) -> tuple[int, int | None]:
    least = sum(not parameter.optional for parameter in form)
    return least, None if any(parameter.repeated for parameter in form) else len(form)


_PARAMETER = re.compile(r"(\[?)(#?)([a-z<>]+)(!?)(&?)((?:\.\.\.)?)\]?")


def _parameter(text: str) -> SignatureParameter:
    parts = _PARAMETER.fullmatch(text)
    assert parts, text
    optional, constant, word, not_null, alike, repeated = parts.groups()
    return SignatureParameter(word, bool(optional), bool(repeated), bool(constant), not not_null, bool(alike))


def _form(text: str) -> Form:
    return tuple(_parameter(word) for word in text.split() if word != "-")


_NULLS = {"!": "never", "?": "always"}


@cache
def load_signatures() -> dict[str, FunctionSignature]:
    """Parse the table, once."""
    table: dict[str, FunctionSignature] = {}
    for line in TABLE.strip().splitlines():
        names, arguments, result, *rest = (part.strip() for part in line.split(" : "))
        flags = rest[0] if rest else ""
        symbols, _, word = flags.rpartition(" ") if flags.islower() or " " in flags else (flags, "", "")
        forms = tuple(_form(form) for form in arguments.split("|"))
        for name in names.split():
            table[name] = FunctionSignature(
                name=name,
                forms=forms,
                result=result,
                aggregate="A" in symbols,
                window="W" in symbols,
                generator="G" in symbols,
                deterministic="N" not in symbols,
                raises="R" in symbols,
                nullable=word
                or next((_NULLS[symbol] for symbol in symbols if symbol in _NULLS), "arguments"),
            )
    anything = ((SignatureParameter("any", optional=True, repeated=True),),)
    for name in OTHERS.split():
        table.setdefault(name, FunctionSignature(name, anything, "unknown", nullable="always"))
    return table
