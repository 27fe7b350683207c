import sys

import pytest

# Tests of other folders read them, too, and may have come first.
pytest.register_assert_rewrite(*({"plans", "written"} - sys.modules.keys()))
