"""MS7xx: the machine. MS9xx: Millstream itself."""

from millstream.codes import Code

CODES = {
    "MS900": Code(
        "Internal error",
        "Millstream made a mistake of its own. Run again with MILLSTREAM_TRACEBACK=1 and report what it prints.",
    ),
}
