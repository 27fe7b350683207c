"""A function in Python that imports a library and a module of the project, for workers that have neither."""

import sys
from pathlib import Path

PYTHON = Path(sys.base_prefix) / f"bin/python{sys.version_info[0]}.{sys.version_info[1]}"
"""Has no packages of its own."""
_FUNCTION = """
    import wcwidth
    import words

    def width(text: str) -> int:
        return wcwidth.wcswidth(words.loud(text))
"""
_MODULE = """
    def loud(text: str) -> str:
        return f"{text}!"
"""
_MODEL = """
    {{ config(materialized='table', unique_key='id') }}
    select id, width(kind) as width from {{ source('web', 'events') }}
"""


def write_widths(shop):
    """Write the function, and the model `widths` that calls it."""
    shop.write("macros/width.py", _FUNCTION)
    shop.write("words.py", _MODULE)
    shop.write("macros/functions.yml", "functions:\n  - {name: width, runs: python}")
    shop.model("widths", _MODEL)
