"""What lives outside of Spark contexts in our Java classes is forgotten when another command borrows the JVM."""

import re

from millstream.engine.spark.functions import SOURCES

_FIELD = re.compile(
    r"^ *(?:public |private |protected )?static (?:final |volatile )*([\w.<>\[\], ]+?) (\w+)(?: =|;)",
    re.MULTILINE,
)
_CHANGING = re.compile(
    r"^ *(?:public |private )?static (?!final)[^({]*;|\b\w*(?:Map|List|Set|Queue|Local)<|\bAtomic\w+ "
)
_CONSTANT = re.compile(r"= *\n? *(Map|Set|List)\.(of|ofEntries|copyOf)\b|Collectors\.to|= Stream\.")
PURE = {
    "NativeCode.COMPILED": "code that was compiled, by its source",
    "AvroTexts.OPEN": "of one call, in its thread",
    "ProtobufTexts.OPEN": "of one call, in its thread",
}


def test_every_static_field_that_changes_is_forgotten():
    forgotten = (SOURCES / "millstream/spark/WarmState.java").read_text(encoding="utf-8")
    changing = set()
    for file in SOURCES.rglob("*.java"):
        text = file.read_text(encoding="utf-8")
        for field in _FIELD.finditer(text):
            declaration = text[field.start() : text.index(";", field.start()) + 1]
            if _CHANGING.search(declaration) and not _CONSTANT.search(declaration):
                changing.add(f"{file.stem}.{field[2]}")
                name = f"{file.stem}.{field[2]}"
                body = re.search(r"static void forget\(\) \{(.*?)\n  \}", text, re.DOTALL)
                assert name in PURE or (
                    body and field[2] in body[1] and f"{file.stem}.forget()" in forgotten
                ), name
    assert {*PURE, "Registry.current", "Registry.CACHE", "Transaction.IDLE", "Host.SLOTS"} <= changing
