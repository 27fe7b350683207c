"""Writes the Java code of one function: lines, variables, and what is known of them at each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from millstream.native.values import INT, JavaValue, Kinds, convert_java, java_type, union_kinds


class JavaVariable(Struct, frozen=True):
    """A variable of Python at some place of the code."""

    type: str
    """Of the variable of Java that holds it here."""
    kinds: Kinds
    slot: str = ""
    """That variable, if Python's can't change."""


Locals = Mapping[str, JavaVariable]
"""The variables that are certainly bound at a place, by name."""


class JavaCode:
    """Lines of Java. `locals` is None where the code can't be reached."""

    def __init__(self, locals_: Locals, *, wide: bool) -> None:
        self.wide = wide
        self.locals: Locals | None = locals_
        self.lines: list[str] = []
        self._declared: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._temporary = 0
        self._line = 0

    def write(self, line: str) -> None:
        self.lines.append(line)

    def record_line(self, line: int) -> None:
        """Record the line of Python that an error of the next line of Java has."""
        if line != self._line:
            self.write(f"line = {line};")
            self._line = line

    def temporary(self, kinds: Kinds, code: str, java: str = "") -> JavaValue:
        """Evaluate an expression now; it has the type `java` in Java, by default the natural one."""
        natural = java_type(kinds, wide=self.wide)
        if java == "Object" and "int" in kinds and not self.wide:
            code = f"PythonValues.narrow({code})"
        name = self._next()
        self.write(f"final {natural} {name} = {convert_java(code, java or natural, natural)};")
        return JavaValue(name, kinds)

    def integer(self, code: str) -> JavaValue:
        """Evaluate a `long` of Java now."""
        return self.temporary(INT, f"Long.valueOf({code})" if self.wide else code)

    def variable(self, java: str, code: str) -> str:
        name = self._next()
        self.write(f"{java} {name} = {code};")
        return name

    def _next(self) -> str:
        self._temporary += 1
        return f"t{self._temporary}"

    def boxed(self, value: JavaValue) -> str:
        return convert_java(value.code, java_type(value.kinds, wide=self.wide), "Object")

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

    def read(self, name: str) -> JavaValue | None:
        local = (self.locals or {}).get(name)
        if local is None:
            return None
        natural = java_type(local.kinds, wide=self.wide)
        slot = local.slot or self.slot(name, local.type)
        if natural == local.type:
            return JavaValue(slot, local.kinds)
        return JavaValue(f"({convert_java(slot, local.type, natural)})", local.kinds)

    def assign(self, name: str, value: JavaValue) -> None:
        java = java_type(value.kinds, wide=self.wide)
        self.write(f"{self.slot(name, java)} = {value.code};")
        self.know(name, JavaVariable(java, value.kinds))

    def know(self, name: str, local: JavaVariable) -> None:
        self.locals = {**(self.locals or {}), name: local}

    def joined(self, states: Sequence[Locals | None]) -> Locals | None:
        """Return what is known where several paths come together."""
        reached = [state for state in states if state is not None]
        if not reached:
            return None
        names = set(reached[0]).intersection(*reached[1:])
        merged: dict[str, JavaVariable] = {}
        for name in sorted(names):
            kinds = union_kinds(state[name].kinds for state in reached)
            types = {state[name].type for state in reached}
            same = types.pop() if len(types) == 1 else java_type(kinds, wide=self.wide)
            merged[name] = JavaVariable(same, kinds)
        return merged

    def convert(self, target: Locals | None) -> None:
        """Move variables to where the code that follows expects them."""
        if self.locals is None or target is None:
            return
        for name, local in target.items():
            here = self.locals[name]
            provisional = "Object" not in {here.type, local.type}  # the loop is written again
            if here.type != local.type and not provisional:
                code = convert_java(self.slot(name, here.type), here.type, local.type)
                self.write(f"{self.slot(name, local.type)} = {code};")
        self.locals = target

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
