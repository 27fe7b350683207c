"""MS2xx: Jinja templates."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS201 Template syntax
    Jinja can't parse the template: an unclosed tag, or an unknown tag, filter or test.
MS202 Undefined name
    The template uses a name that is not a variable, macro or function. Set names before using them; test with
    `is defined` if a name may be missing.
MS203 Unknown ref
    `ref()` names a model or seed that the project does not have.
MS204 Unknown source
    `source()` names a source or topic that no YAML file declares.
MS205 Variable not set
    `var()` without a default names a variable that is not set in `pyproject.toml`, `MILLSTREAM_VARS` or
    `--vars`.
MS206 Wrong arguments
    A macro or function of the template is called with the wrong arguments, or the template shows a value that
    is not a text, a number, a boolean, None, or a list or mapping of these: call a function, and show an
    iterator with `| list`.
MS207 Not allowed in a template
    Templates run in a sandbox: they can't reach Python's internals, files or the network.
MS208 Raised by the template
    The template called `exceptions.raise_compiler_error()`.
MS209 Template failed
    An expression of the template raised an error while it was rendered.
MS210 Macro defined twice
    Two macros have the same name, or a macro has the name of a built-in function.
MS211 Disabled model
    `ref()` names a model that is configured with `enabled: false`.
MS212 Empty model
    The model's SQL is empty after rendering.
MS213 Template without an end
    A template may take 1,000,000 steps and 5 seconds of CPU time, create 100,000,000 characters of text, and
    render 2,000,000. A step is an iteration, a call or a filter.
MS214 Model without readers
    `ref()` names a model whose materialization only passes rows on, to where no model can read them; or an
    append-only table with `delete_by`, of which a reader would compute deleted rows again. A table with
    `refresh='incremental'` or `'full'` reads what is stored.
""")
