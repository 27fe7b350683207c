"""Writes the Java code of one function: lines, variables, and what is known of them at each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from millstream.native.values import INT, Kinds, Value, converted, java_type, union


class Local(Struct, frozen=True):
    """A variable of Python at some place of the code."""

    type: str
    """Of the variable of Java that holds it here."""
    kinds: Kinds
    slot: str = ""
    """That variable, if Python's can't change."""


Known = Mapping[str, Local]
"""The variables that are certainly bound at a place, by name."""


class Code:
    """Lines of Java. `known` is None where the code can't be reached."""

    def __init__(self, known: Known, *, wide: bool) -> None:
        self.wide = wide
        self.known: Known | None = known
        self.lines: list[str] = []
        self._declared: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._temporary = 0
        self._line = 0

    def write(self, line: str) -> None:
        self.lines.append(line)

    def at(self, line: int) -> None:
        """Record the line of Python that an error of the next line of Java has."""
        if line != self._line:
            self.write(f"line = {line};")
            self._line = line

    def temporary(self, kinds: Kinds, code: str, given: str = "") -> Value:
        """Evaluate an expression now; it has the type of `given` in Java, by default the natural one."""
        natural = java_type(kinds, wide=self.wide)
        if given == "Object" and "int" in kinds and not self.wide:
            code = f"PythonValues.narrow({code})"
        name = self._next()
        self.write(f"final {natural} {name} = {converted(code, given or natural, natural)};")
        return Value(name, kinds)

    def integer(self, code: str) -> Value:
        """Evaluate a `long` of Java now."""
        return self.temporary(INT, f"Long.valueOf({code})" if self.wide else code)

    def variable(self, java: str, code: str) -> str:
        name = self._next()
        self.write(f"{java} {name} = {code};")
        return name

    def _next(self) -> str:
        self._temporary += 1
        return f"t{self._temporary}"

    def boxed(self, value: Value) -> str:
        return converted(value.code, java_type(value.kinds, wide=self.wide), "Object")

    def slot(self, name: str, java: str) -> str:
        """Return the variable of Java for a variable of Python while it has one type."""
        number = self._numbers.setdefault(name, len(self._numbers))
        slot = f"v{number}_{java}"
        self._declared[slot] = java
        return slot

    def declarations(self) -> Iterator[str]:
        defaults = {"long": "0L", "double": "0.0", "boolean": "false"}
        for slot, java in self._declared.items():
            yield f"{java} {slot} = {defaults.get(java, 'null')};"

    def read(self, name: str) -> Value | None:
        local = (self.known or {}).get(name)
        if local is None:
            return None
        natural = java_type(local.kinds, wide=self.wide)
        slot = local.slot or self.slot(name, local.type)
        if natural == local.type:
            return Value(slot, local.kinds)
        return Value(f"({converted(slot, local.type, natural)})", local.kinds)

    def assign(self, name: str, value: Value) -> None:
        java = java_type(value.kinds, wide=self.wide)
        self.write(f"{self.slot(name, java)} = {value.code};")
        self.know(name, Local(java, value.kinds))

    def know(self, name: str, local: Local) -> None:
        self.known = {**(self.known or {}), name: local}

    def joined(self, states: Sequence[Known | None]) -> Known | None:
        """Return what is known where several paths come together."""
        reached = [each for each in states if each is not None]
        if not reached:
            return None
        names = set(reached[0]).intersection(*reached[1:])
        found: dict[str, Local] = {}
        for name in sorted(names):
            kinds = union(each[name].kinds for each in reached)
            types = {each[name].type for each in reached}
            same = types.pop() if len(types) == 1 else java_type(kinds, wide=self.wide)
            found[name] = Local(same, kinds)
        return found

    def convert(self, wanted: Known | None) -> None:
        """Move variables to where the code that follows expects them."""
        if self.known is None or wanted is None:
            return
        for name, local in wanted.items():
            here = self.known[name]
            provisional = "Object" not in {here.type, local.type}  # the loop is written again
            if here.type != local.type and not provisional:
                code = converted(self.slot(name, here.type), here.type, local.type)
                self.write(f"{self.slot(name, local.type)} = {code};")
        self.known = wanted

    @contextmanager
    def block(self) -> Iterator[list[str]]:
        """Collect the lines that are written within in a list of their own."""
        outer, self.lines = self.lines, []
        self._line = 0
        try:
            yield self.lines
        finally:
            self.lines = outer
            self._line = 0

    def write_block(self, head: str, lines: Sequence[str]) -> None:
        self.write(head)
        self.lines += [f"  {line}" for line in lines]
        self.write("}")
        self._line = 0

    def write_choice(self, condition: str, yes: Sequence[str], no: Sequence[str]) -> None:
        self.write_block(f"if ({condition}) {{", yes)
        if no:
            self.lines[-1] = "} else {"
            self.lines += [*(f"  {line}" for line in no), "}"]
