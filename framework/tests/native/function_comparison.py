"""Runs functions natively and over Arrow in Spark, on values near the limits of their types, and compares."""

import math
import random
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from msgspec.structs import replace

from millstream.compile.native_functions import translate_function
from millstream.core.text import FileText
from millstream.core.user_code import SourceFile
from millstream.engine.python.functions import register_functions
from millstream.native import Translation
from millstream.project.functions import read_functions

ROWS = 120
TYPES = {
    "int": pa.int64(), "float": pa.float64(), "str": pa.string(), "bool": pa.bool_(),
    "int32": pa.int32(), "float32": pa.float32(), "date": pa.date32(), "time": pa.timestamp("us", "UTC"),
}  # fmt: skip
VALUES = {
    "int": [0, 1, -1, 2, 5, 7, -8, 100, 2**31, -(2**31), 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)],
    "float": [
        *(
            0.0,
            -0.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            1.005,
            2.675,
            0.1,
            1e16,
            1e22,
            1e-5,
            123456.789,
            9007199254740993.0,
        ),
        *(math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, -1e300, 3.0, 1e15 + 0.5),
    ],
    "str": [
        "",
        "a",
        "b",
        "purchase",
        "é",
        "É",
        "😀",
        "a😀b",
        " a ",
        "ΑΣ",
        "ΑΣ.",
        "Σ",
        "ß",
        "ǆ",
        "zz",
        "\u2003x",
        "İ",
    ],
    "bool": [True, False],
}


def arrow_type(kind):
    """Return the type of a scalar's name, of the fields of a dict, or of the element of a list."""
    if isinstance(kind, dict):
        return pa.struct([(name, arrow_type(field_kind)) for name, field_kind in kind.items()])
    return pa.list_(arrow_type(kind[0])) if isinstance(kind, list) else TYPES[kind]


def rows(seed, parameters, count=ROWS):
    dice = random.Random(seed)

    def value(kind):
        chance = dice.random()
        if chance < 0.06:
            return None
        if isinstance(kind, dict):
            return {name: value(field_kind) for name, field_kind in kind.items()}
        if isinstance(kind, list):
            none = dice.random() < 0.3
            values = [value(kind[0]) for _ in range(dice.choice((0, 1, 2, 3, 6)))]
            return [element for element in values if none or element is not None]
        if kind.endswith("32"):
            return {
                "int32": lambda: dice.randint(-(2**31), 2**31 - 1),
                "float32": lambda: dice.randint(-9, 9) / 8,
            }[kind]()
        if chance < 0.5:
            return dice.choice(VALUES[kind])
        return {
            "int": lambda: dice.randint(-(10 ** dice.randint(1, 18)), 10 ** dice.randint(1, 18)),
            "float": lambda: (
                round(dice.uniform(-1000, 1000), dice.randint(0, 6)) * 10 ** dice.randint(-3, 12)
            ),
            "str": lambda: "".join(dice.choices("ab é😀\u03a3\u03c31", k=dice.randint(0, 5))),
            "bool": lambda: dice.random() < 0.5,
        }[kind]()

    return [[value(kind) for kind in parameters.values()] for _ in range(count)]


def compared(spark, text, rows, parameters, path="macros/random.py", names=None):
    """Compare all functions of a file; return how many calls gave a value, and how many an error."""
    functions, errors = read_functions(FileText(path, text))
    assert not [error for error in errors if error.severity == "error"]
    chosen = [function for function in functions if names is None or function.name in names]
    translated = [
        function for function in chosen if isinstance(translate_function(function, text), Translation)
    ]
    source = SourceFile(path, text, str(abs(hash(text))))
    columns = zip(*rows, strict=True)
    table = pa.table(
        {"n": pa.array(range(len(rows)))}
        | {
            name: pa.array(column, arrow_type(kind))
            for (name, kind), column in zip(parameters.items(), columns, strict=True)
        }
    )
    spark.createDataFrame(table).createOrReplaceTempView("given")
    values = failed = 0
    different = {}
    for start in range(0, len(translated), 12):
        part = translated[start : start + 12]
        expected = by_spark(
            spark, source, [replace(function, runs="python") for function in part], parameters
        )
        native = by_spark(spark, source, part, parameters)
        for name, python_values in expected.items():
            got = native[name]
            for index in pc.indices_nonzero(pc.not_equal(got, python_values)).to_pylist()[:1]:
                row, native_json, python_json = rows[index], got[index].as_py(), python_values[index].as_py()
                different[name] = row, f"native {native_json}", f"Python {python_json}"
            count = pc.sum(pc.ends_with(python_values, '"error":null}')).as_py()
            values += count
            failed += len(rows) - count
    assert different == {}
    return translated, values, failed


def registered(spark, source, functions):
    project = SimpleNamespace(functions={function.name: function for function in functions}, root="/nowhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("millstream.engine.python.functions.source_of", lambda *_: source)
        register_functions(spark, project, [function.name for function in functions])


def by_spark(spark, source, functions, parameters):
    """Return the values and errors of each function as JSON, which tells 0.0 from -0.0, and has NaN."""
    registered(spark, source, functions)
    arguments = ", ".join(parameters)
    calls = ", ".join(
        f"to_json({function.name}_where(true, {arguments}), map('ignoreNullFields', 'false')) as {function.name}"
        for function in functions
    )
    frame = spark.sql(f"select {calls} from given order by n")
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert ("ArrowEvalPython" in plan) == any(function.runs == "python" for function in functions)
    table = frame.toArrow()
    return {function.name: table[function.name] for function in functions}
