"""Plans are written with the words that the optimizer's tests have for them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "optimizer"))
