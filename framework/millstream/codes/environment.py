"""MS7xx: the machine. MS9xx: Millstream itself."""

from millstream.codes import Code

CODES = {
    "MS701": Code(
        "The command line is not understood",
        "There is no such command or option, or a value is missing or not allowed. "
        "`millstream COMMAND --help` shows what there is, with examples.",
    ),
    "MS702": Code(
        "A file can't be written",
        "The target folder, or the folder that was named, is not writable or the disk is full. "
        "Make it writable, or set `target-path` in `[tool.millstream]`.",
    ),
    "MS703": Code(
        "No new project can be made here",
        "`millstream init` writes into a new or empty folder only, so that nothing of yours is overwritten. "
        "Choose another folder.",
    ),
    "MS704": Code(
        "The name can't be a project's",
        "A project's name is also a name in SQL and YAML: "
        "letters, digits and `_`, not beginning with a digit.",
    ),
    "MS705": Code(
        "There is no such model or column",
        "`millstream lineage` was asked for something that the project does not have. "
        "`millstream ls` lists what there is.",
    ),
    "MS706": Code(
        "The system refused",
        "The disk is full or failing, too many files are open, or the current folder was removed. "
        "Nothing in the project causes it: make room, or work in another folder.",
    ),
    "MS707": Code(
        "target-path can't be cleaned",
        "`millstream clean` removes the folder that `target-path` names, so it must be one within the project that "
        "holds none of its models, macros, seeds or tests.",
    ),
    "MS708": Code(
        "Nothing can listen on this port",
        "Another program has the port that `millstream docs serve` was to answer on, or it may not be used. "
        "Choose another `--port`, or 0 for any that is free.",
    ),
    "MS709": Code(
        "No site can be made here",
        "The folder that `millstream docs generate --to` names has a page of its own, which would be overwritten. "
        "Name another folder.",
    ),
    "MS900": Code(
        "Internal error",
        "Millstream made a mistake of its own. "
        "Run again with MILLSTREAM_TRACEBACK=1 and report what it prints.",
    ),
}
