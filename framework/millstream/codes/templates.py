"""MS2xx: Jinja templates."""

from millstream.codes import Code

CODES = {
    "MS201": Code(
        "Template syntax",
        "Jinja can't parse the template: an unclosed tag, or an unknown tag, filter or test.",
    ),
    "MS202": Code(
        "Undefined name",
        "The template uses a name that is not a variable, macro or function. Set names before using "
        "them; test with `is defined` if a name may be missing.",
    ),
    "MS203": Code("Unknown ref", "`ref()` names a model or seed that the project does not have."),
    "MS204": Code("Unknown source", "`source()` names a source or topic that no YAML file declares."),
    "MS205": Code(
        "Variable not set",
        "`var()` without a default names a variable that is not set in `pyproject.toml`, "
        "`MILLSTREAM_VARS` or `--vars`.",
    ),
    "MS206": Code(
        "Wrong arguments",
        "A macro or function of the template is called with the wrong arguments.",
    ),
    "MS207": Code(
        "Not allowed in a template",
        "Templates run in a sandbox: they can't reach Python's internals, files or the network.",
    ),
    "MS208": Code("Raised by the template", "The template called `exceptions.raise_compiler_error()`."),
    "MS209": Code("Template failed", "An expression of the template raised an error while it was rendered."),
    "MS210": Code(
        "Macro defined twice",
        "Two macros have the same name, or a macro has the name of a built-in function.",
    ),
    "MS211": Code(
        "Disabled model",
        "`ref()` names a model that is configured with `enabled: false`.",
    ),
    "MS212": Code(
        "Empty model",
        "The model's SQL is empty after rendering.",
    ),
}
