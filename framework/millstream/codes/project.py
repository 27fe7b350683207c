"""MS1xx: files, settings, YAML, seeds."""

from millstream.codes import Code

CODES = {
    "MS101": Code(
        "No project", "Neither this folder nor one above it has a pyproject.toml with `[tool.millstream]`."
    ),
    "MS102": Code("File can't be read", "The file is missing, a folder, or may not be read."),
    "MS103": Code("Wrong encoding", "All files of a project are UTF-8 (a byte order mark does no harm)."),
    "MS104": Code("TOML syntax", "pyproject.toml can't be read."),
    "MS105": Code("YAML syntax", "The file is not plain YAML: bad indentation, a tab, an open quote, a tag."),
    "MS106": Code("Unknown key", "There is no such key here; the message names the nearest one."),
    "MS107": Code("Wrong value", "The value has the wrong type, or is none of those that are allowed."),
    "MS108": Code("Missing key", "A key that is required is not given."),
    "MS109": Code("Name given twice", "Two models, sources, seeds, functions or columns have the same name."),
    "MS110": Code(
        "Name not possible", "Names are made of letters, digits and `_`; some are taken by Millstream itself."
    ),
    "MS111": Code(
        "Key given twice",
        "One mapping of a YAML file has the same key twice; YAML would drop the first silently.",
    ),
    "MS112": Code(
        "No such profile or target", "profiles.yml has no such profile, or the profile no such output."
    ),
    "MS113": Code(
        "Secret in the wrong place",
        "Secrets come from `env_var()` in profiles.yml. Elsewhere they would be written to compiled SQL.",
    ),
    "MS114": Code("Environment variable not set", "`env_var()` without a default needs the variable."),
    "MS115": Code("Bad variables", "`--vars` and MILLSTREAM_VARS are YAML mappings of names to values."),
    "MS116": Code("Empty file", "A model's file holds nothing."),
    "MS117": Code(
        "Describes what does not exist", "YAML or a generator names something that the project does not have."
    ),
    "MS118": Code(
        "Seed can't be read",
        "The CSV file is ragged, badly quoted, or a value does not fit its column's type.",
    ),
    "MS119": Code("File too large", "Files of a project have at most 10 MB; keep data elsewhere."),
    "MS120": Code("Bad option", "A model has no such option, or the option not such a value."),
    "MS121": Code(
        "Option of another materialization", "The option means something only for another materialization."
    ),
}
