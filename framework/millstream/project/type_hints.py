"""Reads Python type hints as Spark types."""

import ast
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from millstream.core import types
from millstream.core.errors import Diagnostic, diagnostic_at, did_you_mean
from millstream.core.type_names import type_remedy
from millstream.core.types import Type
from millstream.project.python_module import Module
from millstream.project.structs import fields_of

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


class Hint(Struct, frozen=True):
    type: Type
    nullable: bool = False
    fields: tuple[types.Field, ...] = ()
    """The fields of a struct, which know whether they can be NULL."""
    python: str = ""
    """The class of its values in Python, such as `int` or `list`; empty if only the SQL type is known."""
    parts: tuple["Hint", ...] = ()
    """Those of the fields of that class, or of the elements."""


UNKNOWN = Hint(types.UNKNOWN)


class HintReader(Struct):
    """Reads the hints of one module; `errors` collects what is wrong with them, each once."""

    module: Module
    errors: list[Diagnostic] = []
    structs: dict[str, Hint] = {}
    """Those read so far."""
    path: list[str] = []
    """The names of the structs and aliases that are being read."""

    def error(self, node: ast.expr, code: str, message: str, remedy: str = "") -> Hint:
        diagnostic = self.module.error(node, code, message, remedy)
        if diagnostic not in self.errors:
            self.errors.append(diagnostic)
        return UNKNOWN

    def read(self, hint: ast.expr) -> Hint:
        node, aliases = self._follow(hint)
        for name in aliases:
            if name in self.path:
                return self._recursive(hint, name)
        self.path += aliases
        read = self._read(node)
        del self.path[len(self.path) - len(aliases) :]
        return read

    def _read(self, node: ast.expr) -> Hint:
        match node:
            case ast.BinOp(op=ast.BitOr()):
                return self._union(node, list(_members(node)))
            case ast.Subscript(value=value, slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return self._subscript(node, self.module.qualified(value), list(parts))
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.Constant(value=None):
                remedy = "return a value; write `X | None` for an X that can be NULL."
                return self.error(node, "MS303", "None alone is not a type", remedy)
            case _:
                return self._unsupported(node, self.module.source(node))

    def _unsupported(self, node: ast.expr, written: str, remedy: str = HELP) -> Hint:
        return self.error(node, "MS303", f"`{written}` has no SQL type", remedy)

    def _recursive(self, node: ast.expr, name: str) -> Hint:
        path = " → ".join((*self.path[self.path.index(name) :], name))
        remedy = (
            "SQL types are finite: store the ids of the inner values, or the inner part as JSON in a `str`."
        )
        return self.error(node, "MS313", f"the type '{name}' contains itself: {path}", remedy)

    def rows(self, hint: ast.expr) -> ast.expr | None:
        """Return X of `Iterator[X]`, `Iterable[X]` or `Generator[X, ...]`."""
        match self.resolve(hint):
            case ast.Subscript(value=value, slice=inner) if self.module.qualified(value) in ROWS:
                return inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            case _:
                return None

    def optional_rows(self, hint: ast.expr) -> bool:
        """Return whether a hint is `Iterator[X] | None`."""
        match self.resolve(hint):
            case ast.BinOp(op=ast.BitOr()) as node:
                return any(self.rows(member) is not None for member in _members(node))
            case ast.Subscript(slice=inner) as node:
                return self._may_be_none(node) and self.rows(inner) is not None
            case _:
                return False

    def resolve(self, hint: ast.expr) -> ast.expr:
        return self._follow(hint)[0]

    def _follow(self, hint: ast.expr) -> tuple[ast.expr, list[str]]:
        """Return the hint that strings and the module's aliases stand for, and the aliases' names."""
        names: list[str] = []
        while True:
            match hint:
                case ast.Constant(value=str(written)):
                    hint = self._unquoted(hint, written)
                case ast.Name(id=name) if name in self.module.aliases and name not in names:
                    names.append(name)
                    hint = self.module.aliases[name]
                    if isinstance(hint, ast.Call) and self.module.qualified(hint.func) == "typing.NewType":
                        hint = hint.args[-1] if hint.args else hint
                case _:
                    return hint, names

    def _unquoted(self, node: ast.Constant, written: str) -> ast.expr:
        """Parse a hint written as a string, and place it where the string stands."""
        try:
            parsed = ast.parse(written.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.copy_location(ast.Tuple([]), node)  # what no hint can be, so that it is reported
        inner = self._inside(node, written)
        for part in ast.walk(parsed):
            if inner is None or not isinstance(part, ast.expr):
                ast.copy_location(part, node)
            else:
                shift = node.col_offset + inner
                part.lineno = part.end_lineno = node.lineno
                part.col_offset += shift
                part.end_col_offset = (part.end_col_offset or 0) + shift
        return parsed

    def _inside(self, node: ast.Constant, written: str) -> int | None:
        """Return how far into its literal a string starts, if it is written plainly."""
        literal = re.fullmatch(r"""(\w*["'])(.*)["']""", self.module.source(node))
        plain = literal and literal.group(2) == written == written.strip()
        return len(literal.group(1)) if literal and plain else None

    def _named(self, node: ast.Name | ast.Attribute) -> Hint:
        module = self.module
        if isinstance(node, ast.Name) and node.id in module.classes:
            return self._struct(node)
        if isinstance(node, ast.Name) and node.id in module.aliases:  # it was followed, and led back here
            return self._recursive(node, node.id)
        name, written = module.qualified(node), ast.unparse(node)
        if name in SCALARS:
            return Hint(SCALARS[name], python=name.rpartition(".")[2])
        if name in VAGUE:
            return self.error(node, "MS304", f"`{written}` does not specify a type", HELP)
        if name in LISTS or name in TUPLES or name in DICTS:
            example = "`dict[str, int]`, or a dataclass for a struct" if name in DICTS else "`list[str]`"
            message = f"`{written}` has no element type"
            return self.error(node, "MS304", message, f"write, for example, {example}.")
        if name in ROWS:
            return self._misplaced_rows(node)
        if name in REMEDIES or name.startswith("builtins."):
            return self._unsupported(node, written, REMEDIES.get(name, HELP))
        if name:
            remedy = "define a dataclass in this file, or write Annotated[..., 'a SQL type']."
            return self.error(node, "MS303", f"`{written}` is not defined in this file: {name}", remedy)
        return self._unknown(node)

    def _unknown(self, node: ast.Name | ast.Attribute) -> Hint:
        written = ast.unparse(node)
        for home in KNOWN_HOMES:
            if home.endswith(f".{written}"):
                remedy = f"write `from {home.rpartition('.')[0]} import {written}` above."
                return self.error(node, "MS305", f"`{written}` is not imported", remedy)
        names = [*self.module.classes, *self.module.aliases, *self.module.imports]
        names += [name.rpartition(".")[2] for name in SCALARS]
        remedy = did_you_mean(written, names, "define it in this file, or import it.")
        return self.error(node, "MS305", f"`{written}` is not defined in this file", remedy)

    def _misplaced_rows(self, node: ast.expr) -> Hint:
        remedy = "use `list[...]` for an array; iterators are for the rows of table functions."
        return self.error(node, "MS303", f"`{ast.unparse(node)}` is not a SQL value", remedy)

    def _subscript(self, node: ast.Subscript, name: str, parts: list[ast.expr]) -> Hint:
        written = ast.unparse(node.value)
        match name, parts:
            case "typing.Optional", [inner]:
                return replace(self.read(inner), nullable=True)
            case "typing.NotRequired", [inner]:
                return replace(self.read(inner), nullable=True)
            case "typing.Union", [_, *_]:
                return self._union(node, parts)
            case "typing.Annotated", [inner, *extras]:
                return self._annotated(inner, extras)
            case "typing.Literal", [_, *_]:
                return self._literal(node, parts)
            case _, [inner] if name in LISTS:
                return _array("list", self.read(inner))
            case _, [inner, ast.Constant(value=value)] if name in TUPLES and value is ...:
                return _array("tuple", self.read(inner))
            case _, _ if name in TUPLES:
                remedy = "use a NamedTuple or a dataclass for a struct, `tuple[X, ...]` for an array."
                message = "a tuple of fixed length has no names for its fields"
                return self.error(node, "MS303", message, remedy)
            case _, [key, value] if name in DICTS:
                return self._map(key, value)
            case _, [inner] if name in WRAPPERS:
                return self.read(inner)
            case _ if name in ROWS:
                return self._misplaced_rows(node)
            case _ if name in LISTS or name in DICTS or name in FORMS:
                remedy = "a list or Optional has one type in brackets, a dict has two."
                message = f"`{written}` has {len(parts)} types in its brackets"
                return self.error(node, "MS303", message, remedy)
            case _ if name:
                return self._unsupported(node, f"{written}[...]", REMEDIES.get(name, HELP))
            case _ if isinstance(node.value, ast.Name) and node.value.id not in self.module.classes:
                return self._unknown(node.value)
            case _:
                return self._unsupported(node, f"{written}[...]", HELP)

    def _union(self, node: ast.expr, members: list[ast.expr]) -> Hint:
        types_given = [member for member in members if not _is_none(member)]
        if len(types_given) != 1:
            remedy = "choose one type; `X | None` is the only union that SQL supports."
            return self.error(node, "MS303", f"`{ast.unparse(node)}` is several types", remedy)
        inner = self.read(types_given[0])
        return replace(inner, nullable=inner.nullable or len(types_given) < len(members))

    def _map(self, key: ast.expr, value: ast.expr) -> Hint:
        key_hint = self.read(key)
        if key_hint.nullable:
            self.error(key, "MS316", "the key of a map can't be NULL", "remove the `None`.")
        elif not isinstance(key_hint.type, types.Simple | types.Decimal):
            self.error(key, "MS303", f"the key of a map can't be {key_hint.type}", "use `dict[str, ...]`.")
        return Hint(types.Map(key_hint.type, self.read(value).type))

    def _literal(self, node: ast.expr, parts: list[ast.expr]) -> Hint:
        values = [part for part in parts if not _is_none(part)]
        kinds = {f"builtins.{type(p.value).__name__}" for p in values if isinstance(p, ast.Constant)}
        if (
            len(kinds) != 1
            or not all(isinstance(p, ast.Constant) for p in values)
            or not kinds & SCALARS.keys()
        ):
            return self.error(node, "MS303", "the values of this Literal have different types", HELP)
        return Hint(SCALARS[kinds.pop()], nullable=len(values) < len(parts))

    def _annotated(self, inner: ast.expr, extras: list[ast.expr]) -> Hint:
        """Read `Annotated[X, "ddl"]`: the type is that of the DDL; X only decides whether it can be NULL."""
        for extra in extras:
            match extra:
                case ast.Constant(value=str(ddl)):
                    return Hint(self._ddl(extra, ddl), nullable=self._may_be_none(inner))
        return self.read(inner)

    def _may_be_none(self, hint: ast.expr) -> bool:
        match self.resolve(hint):
            case ast.BinOp(op=ast.BitOr()) as node:
                return any(map(_is_none, _members(node)))
            case ast.Subscript(value=value, slice=ast.Tuple(elts=parts)):
                return self.module.qualified(value) == "typing.Union" and any(map(_is_none, parts))
            case ast.Subscript(value=value):
                return self.module.qualified(value) == "typing.Optional"
            case _:
                return False

    def _ddl(self, node: ast.Constant, ddl: str) -> Type:
        try:
            return types.parse_type(ddl)
        except types.TypeSyntaxError as error:
            message = f"this SQL type can't be parsed: {error}"
            remedy = "write it as in DDL, such as 'decimal(10,2)'."
            remedy = type_remedy(error.name, remedy) if error.name else remedy
            inner = self._inside(node, ddl)
            if inner is None:
                return self.error(node, "MS306", message, remedy).type
            start = self.module.span(node)[0] + inner + error.offset
            diagnostic = diagnostic_at(
                self.module.text, start, start + max(len(error.name), 1), "MS306", message, remedy
            )
            if diagnostic not in self.errors:
                self.errors.append(diagnostic)
            return types.UNKNOWN

    def _struct(self, node: ast.Name) -> Hint:
        name = node.id
        if name in self.path:
            return self._recursive(node, name)
        if name not in self.structs:
            self.path.append(name)
            fields = fields_of(self.module, node, self.errors)
            read = {field: self.read(hint) for field, hint in fields.items()}
            row = types.Row(tuple(types.Field(field, hint.type) for field, hint in read.items()))
            nullable = tuple(types.Field(field, hint.type, hint.nullable) for field, hint in read.items())
            parts = tuple(read.values())
            self.structs[name] = Hint(row, fields=nullable, python=name, parts=parts) if read else UNKNOWN
            self.path.pop()
        return self.structs[name]


def _array(python: str, element: Hint) -> Hint:
    return Hint(types.Array(element.type), python=python, parts=(element,))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _members(node: ast.expr) -> Iterator[ast.expr]:
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr):
            todo += [part.right, part.left]
        else:
            yield part
