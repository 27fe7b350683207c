"""Codes of the selectors."""

from millstream.codes import Code

CODES = {
    "MS601": Code(
        "A selector can't be read",
        "Its text does not follow the grammar, for example an empty name or '@' together with '+'. "
        "The caret shows where; write names, methods and '+', '@', ',' as in 'tag:nightly,2+orders+'.",
    ),
    "MS602": Code(
        "There is no such selector method",
        "The word before ':' is not a method. Use one of those that the selector reference lists, such as "
        "'tag:', 'path:' or 'source:'.",
    ),
    "MS603": Code(
        "A selector selects nothing",
        "No node matches, often because a name, a tag or a path was mistyped. "
        "This is a warning as long as something else is selected; `millstream ls` shows what there is.",
    ),
    "MS604": Code(
        "There is no such YAML selector",
        "'--selector' or 'selector:' names a selector that selectors.yml does not define. "
        "Define it there, or mend the name.",
    ),
    "MS605": Code(
        "A selector method has no such value",
        "Methods such as 'resource_type:' and 'test_type:' take one of few values. Use one of those shown.",
    ),
    "MS606": Code(
        "A selector needs data that is missing",
        "'state:' compares with an earlier version, which `--state` names: a branch, tag, commit, or manifest.json. "
        "'result:' reads an earlier run; there is none. Select by name, path or tag instead.",
    ),
    "MS607": Code(
        "A YAML selector is malformed",
        "Its definition is not a text, a 'method: value', a mapping with 'method' and 'value', "
        "or a list under 'union' or 'intersection'. Write it in one of these shapes.",
    ),
    "MS608": Code(
        "YAML selectors refer to each other in a circle",
        "Following 'method: selector' from one of them leads back to it. Remove one of the references.",
    ),
    "MS609": Code(
        "Selection options exclude each other",
        "'--selector' names the whole selection, so '--select' and '--exclude' can't be added. "
        "Write '--select selector:name' instead, which combines with both.",
    ),
    "MS610": Code(
        "No model is selected",
        "All models that '--select' names are left out by '--exclude', or what it names isn't a model. "
        "Nothing is started. `millstream ls` with the same options shows what they select.",
    ),
    "MS611": Code(
        "Models that were not selected are built, too",
        "Models over one source share a streaming query, with one checkpoint: it runs as a whole. To build a "
        "model on its own, set `group` in its config to a name that no other model has, or `grouping: off` "
        "for the target. The new query begins at the start of its sources, and sends their records again.",
    ),
}
