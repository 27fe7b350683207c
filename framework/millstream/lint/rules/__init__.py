"""The built-in rules. A new one needs a file and a line here."""

from millstream.lint.rules.few_group_values import few_group_values
from millstream.lint.rules.lossy_cast import lossy_cast
from millstream.lint.rules.multiplying_join import multiplying_join
from millstream.lint.rules.python_function import python_function
from millstream.lint.rules.unused_column import unused_column
from millstream.lint.rules.unused_model import unused_model

RULES = (
    unused_model,
    unused_column,
    multiplying_join,
    lossy_cast,
    python_function,
    few_group_values,
)
