"""Python functions as Java code that computes exactly the same, so that no Python worker is needed.

    def share(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    static double share(double part, double whole) {
      return whole != 0.0 ? PythonNumbers.divide(part, whole) : 0.0;
    }

What isn't provably the same is not translated: `Obstacle` names the construct and its line, and the function
runs in Python.
"""

from millstream.native.translate import Translation, translate_function
from millstream.native.values import Obstacle

__all__ = ["Obstacle", "Translation", "translate_function"]
