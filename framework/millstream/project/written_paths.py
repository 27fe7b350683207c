"""Paths of files as Python code writes them, such as `Path(__file__).parent / "rates.csv"`."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Sequence

_SAME = frozenset(("Path", "PurePath", "str", "fspath", "abspath", "realpath"))
"""Functions that return the path that they are called with."""
_UNCHANGED = frozenset(("resolve", "absolute", "as_posix"))


def path_of(node: ast.expr, file: str) -> str | None:
    """Return the path that an expression of a file has; None if it depends on more than its text."""
    path = _path(node, file)
    return None if path is None else posixpath.normpath(path)


def _path(node: ast.expr, file: str) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id="__file__"):
            return file or None
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _joined([left, right], file)
        case ast.Attribute(value=inner, attr="parent"):
            return _above(inner, file)
        case ast.Subscript(
            value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(up))
        ):
            return _above(inner, file, up + 1)
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[]) if name in _UNCHANGED:
            return _path(inner, file)
        case ast.Call(func=ast.Attribute(value=inner, attr="joinpath"), args=more):
            return _joined([inner, *more], file)
        case ast.Call(func=ast.Attribute(attr="join"), args=[_, _, *_] as parts):
            return _joined(parts, file)
        case ast.Call(func=ast.Attribute(attr="dirname"), args=[inner]):
            return _above(inner, file)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=parts) if name in _SAME:
            return _joined(parts, file)
    return None


def _joined(parts: Sequence[ast.expr], file: str) -> str | None:
    paths = [path for part in parts if (path := _path(part, file)) is not None]
    return posixpath.join(*paths) if paths and len(paths) == len(parts) else None


def _above(inner: ast.expr, file: str, levels: int = 1) -> str | None:
    path = _path(inner, file)
    for _ in range(levels):
        path = None if path is None else posixpath.dirname(path)
    return path
