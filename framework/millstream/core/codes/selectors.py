"""Codes of the selectors."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS601 A selector can't be parsed
    It does not follow the grammar, for example an empty name or '@' together with '+'. The caret shows where;
    write names, methods and '+', '@', ',' as in 'tag:nightly,2+orders+'.
MS602 Unknown selector method
    The word before ':' is not a method. Use one of [Selectors](selectors.md#methods), such as 'tag:',
    'path:' or 'source:'.
MS603 A selector selects nothing
    No node matches, often because of a typo in a name, a tag or a path. This is a warning as long as
    something else is selected; `millstream ls` lists all nodes.
MS604 Unknown YAML selector
    '--selector' or 'selector:' names a selector that selectors.yml does not define. Define it there, or fix
    the name.
MS605 Unknown value of a selector method
    Methods such as 'resource_type:' and 'test_type:' only take certain values. Use one of those shown.
MS606 A selector needs data that is missing
    'state:' compares with an earlier version, which `--state` names: a branch, tag, commit, or manifest.json.
    'result:' reads an earlier run, and there is none. Select by name, path or tag instead.
MS607 A YAML selector is malformed
    Its definition is not a text, a 'method: value', a mapping with 'method' and 'value', or a list under
    'union' or 'intersection'. Use one of these forms.
MS608 YAML selectors refer to each other in a cycle
    Following 'method: selector' from one of them leads back to it. Remove one of the references.
MS609 Selection options exclude each other
    '--selector' names the whole selection, so it can't be combined with '--select' or '--exclude'. Write
    '--select selector:name' instead, which combines with both.
MS610 No model is selected
    '--exclude' leaves out every model that '--select' names, or the selected nodes are not models. Nothing is
    started. `millstream ls` with the same options shows what they select.
MS611 Models that were not selected are also built
    Models over one source share a streaming query with one checkpoint, which runs as a whole. To build a
    model separately, set `group` in its config to a name that no other model has, or `grouping: off` for
    the target. The new query starts at the beginning of its sources, and sends their records again. With
    `--rebuild`, or with `--full-refresh`, which removes their rows and state, the selected models leave the
    query by themselves.
MS612 A deprecated option
    The option still works, and a later release removes it. `--accept-forward` accepts whatever an edit does
    to all models. `--accept stored:totals` and `--accept mixed:totals` say what is accepted, and where.
MS613 Only views are selected
    A view stores nothing: the queries of the models that read it compute it. `build --select name` runs its
    unit tests; `build --select name+` also builds what reads it.
MS614 Dead letters wait for a query that is not selected
    One query sends the dead letters of a source: the one that writes the topics of models which read it, or
    else a query of its own, which runs with every model that reads the source. If the selection leaves out
    the models of that query, bad records are left out as usual, and their dead letters are counted and sent
    the next time it runs; none is lost.
""")
