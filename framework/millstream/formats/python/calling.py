"""Calls a function that decodes, for one record.

Spark's Python workers use it too. Those of a cluster have no Millstream: pickle sends them this module.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from millstream.core.user_code import SourceFile, describe_failure, module_of, struct_of
from millstream.formats.python.checks import MisfitError, is_row, show_value


class DecodingFunction(NamedTuple):
    name: str
    call: Callable[[bytes], Any]
    returns: Any
    """The class of its rows."""
    optional: bool
    single: bool

    @property
    def expected(self) -> str:
        return str(getattr(self.returns, "__name__", self.returns))

    @property
    def typed_dict(self) -> bool:
        return typing.is_typeddict(self.returns)


def decoding_function(source: SourceFile, name: str, *, optional: bool, single: bool) -> DecodingFunction:
    function = getattr(module_of(source), name)
    hint = typing.get_type_hints(function, include_extras=True)["return"]
    return DecodingFunction(name, function, struct_of(hint), optional, single)


def row_of(decoder: DecodingFunction, value: bytes, *, interruptible: bool = False) -> Any:
    """Return what a function makes of a record's bytes; raise `MisfitError` if it fails.

    None stands for a record that has no row, unless the function returns single values. If it is
    `interruptible`, Ctrl-C ends the command and not only the call.
    """
    try:
        returned = decoder.call(value)
    except KeyboardInterrupt as error:
        if interruptible:
            raise
        raise MisfitError(describe_failure(decoder.name, error)) from None
    except BaseException as error:  # noqa: BLE001 - whatever the user's function raises, also SystemExit
        raise MisfitError(describe_failure(decoder.name, error)) from None
    if returned is None:
        expected = decoder.optional
    elif decoder.single or type(returned) is decoder.returns:
        expected = True
    else:
        expected = is_row(returned) if decoder.typed_dict else isinstance(returned, decoder.returns)
    if not expected:
        raise MisfitError(f"{decoder.name}(): returned {show_value(returned)}, not {decoder.expected}")
    return returned
