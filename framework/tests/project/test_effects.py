"""What a module changes when it is imported counts for functions that may see it, however it does so."""

import pytest
from support.shops import Shop

from millstream.compile.native_functions import translate_function
from millstream.native import Obstacle
from millstream.project.load import load_project

F = """
import conf
{}

def f(value: int) -> int:
    return value * conf.K
"""
MODULE = """
{}
K = 1
{}

def f(value: int) -> int:
    return value * K
"""
CONF = "K = 1\n\n\nclass Rates:\n    low = 1\n\n\nTABLE = {'a': 1}\n"
SETUP = "import conf\n\nconf.K = 2\n"
CHANGED = {
    "a module imported for its effect": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": SETUP}, "lib/setup.py"),
    "of a package": ({"macros/f.py": F.format("import lib"), "lib/__init__.py": SETUP}, "lib/__init__.py"),
    "of a name that nobody reads": ({"macros/f.py": F.format("from lib.setup import unread"), "lib/setup.py": SETUP + "unread = 1\n"}, "lib/setup.py"),
    "two steps away": ({"macros/f.py": F.format("import lib.first"), "lib/first.py": "from . import setup\n", "lib/setup.py": SETUP}, "lib/setup.py"),
    "under a condition": ({"macros/f.py": F.format("try:\n    import lib.setup\nexcept ImportError:\n    pass"), "lib/setup.py": SETUP}, "lib/setup.py"),
    "by a star import": ({"macros/f.py": F.format("from lib.setup import *"), "lib/setup.py": SETUP}, "lib/setup.py"),
    "by import_module": ({"macros/f.py": F.format("import importlib\n\nimportlib.import_module('lib.setup')"), "lib/setup.py": SETUP}, "lib/setup.py"),
    "by __import__": ({"macros/f.py": F.format("__import__('lib.setup')"), "lib/setup.py": SETUP}, "lib/setup.py"),
    "by exec": ({"macros/f.py": F.format("exec('import lib.setup')"), "lib/setup.py": SETUP}, "lib/setup.py"),
    "in a namespace package": ({"macros/f.py": F.format("import deep.er.setup"), "deep/er/setup.py": SETUP}, "deep/er/setup.py"),
    "in src": ({"macros/f.py": F.format("import lib.setup"), "src/lib/setup.py": SETUP}, "src/lib/setup.py"),
    "by a function": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "import conf\n\n\ndef run():\n    conf.K = 2\n\n\nrun()\n"}, "lib/setup.py"),
    "by another module's function": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "from lib.run import run\n\nrun()\n", "lib/run.py": "import conf\n\n\ndef run():\n    conf.K = 2\n"}, "lib/run.py"),
    "by a decorator": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "from lib.run import run\n\n\n@run\ndef unread():\n    pass\n", "lib/run.py": "import conf\n\n\ndef run(what):\n    conf.K = 2\n"}, "lib/run.py"),
    "by setattr": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "import conf\n\nsetattr(conf, 'K', 2)\n"}, "lib/setup.py"),
    "by vars": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "import conf\n\nvars(conf)['K'] = 2\n"}, "lib/setup.py"),
    "by __dict__": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "import conf\n\nconf.__dict__.update(K=2)\n"}, "lib/setup.py"),
    "by sys.modules": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "import sys\n\nimport conf\n\nsys.modules['conf'].K = 2\n"}, "lib/setup.py"),
    "of a class": ({"macros/f.py": F.format("import lib.setup").replace("conf.K", "conf.Rates.low"), "lib/setup.py": "import conf\n\nconf.Rates.low = 2\n"}, "lib/setup.py"),
    "of an imported class": ({"macros/f.py": F.format("import lib.setup").replace("conf.K", "conf.Rates.low"), "lib/setup.py": "from conf import Rates\n\nRates.low = 2\n"}, "lib/setup.py"),
    "of a dict": ({"macros/f.py": F.format("import lib.setup").replace("conf.K", "conf.TABLE['a']"), "lib/setup.py": "import conf\n\nconf.TABLE['a'] = 2\n"}, "lib/setup.py"),
    "by another name": ({"macros/f.py": F.format("import lib.setup").replace("conf.K", "conf.TABLE['a']"), "lib/setup.py": "import conf\n\ntable = conf.TABLE\ntable['a'] = 2\n"}, "lib/setup.py"),
    "by update": ({"macros/f.py": F.format("import lib.setup").replace("conf.K", "conf.TABLE['a']"), "lib/setup.py": "from conf import TABLE\n\nTABLE.update(a=2)\n"}, "lib/setup.py"),
    "of the environment": ({"macros/f.py": "import os\n\nimport lib.setup\n\n\ndef f(value: int) -> int:\n    return value * int(os.environ['K'])\n", "lib/setup.py": "import os\n\nos.environ['K'] = '2'\n"}, "lib/setup.py"),
    "of a random seed": ({"macros/f.py": "import random\n\nrandom.seed(2)\n\n\ndef f(value: int) -> int:\n    return value * random.random()\n"}, "macros/f.py"),
    "of a locale": ({"macros/f.py": "import locale\n\nlocale.setlocale(2)\n\n\ndef f(value: str) -> float:\n    return locale.atof(value)\n"}, "macros/f.py"),
    "of decimals": ({"macros/f.py": "import decimal\n\ndecimal.getcontext().prec = 2\n\n\ndef f(value: int) -> float:\n    return float(decimal.Decimal(value) / 3)\n"}, "macros/f.py"),
    "of decimals elsewhere": ({"macros/f.py": "from decimal import Decimal\n\nimport lib.setup\n\n\ndef f(value: int) -> float:\n    return float(Decimal(value) / 3)\n", "lib/setup.py": "from decimal import getcontext\n\ngetcontext().prec = 2\n"}, "lib/setup.py"),
    "of builtins": ({"macros/f.py": "import lib.setup\n\n\ndef f(value: int) -> int:\n    return abs(value)\n", "lib/setup.py": "import builtins\n\nbuiltins.abs = lambda value: 2\n"}, "lib/setup.py"),
    "own: setattr": ({"macros/f.py": MODULE.format("import sys", "setattr(sys.modules[__name__], 'K', 2)")}, "macros/f.py"),
    "own: globals": ({"macros/f.py": MODULE.format("", "globals()['K'] = 2")}, "macros/f.py"),
    "own: globals.update": ({"macros/f.py": MODULE.format("", "globals().update(K=2)")}, "macros/f.py"),
    "own: vars": ({"macros/f.py": MODULE.format("", "vars()['K'] = 2")}, "macros/f.py"),
    "own: locals": ({"macros/f.py": MODULE.format("", "locals()['K'] = 2")}, "macros/f.py"),
    "own: exec": ({"macros/f.py": MODULE.format("", "exec('K = 2')")}, "macros/f.py"),
    "own: __dict__": ({"macros/f.py": MODULE.format("import sys", "sys.modules[__name__].__dict__['K'] = 2")}, "macros/f.py"),
    "own: a function that sets globals": ({"macros/f.py": MODULE.format("", "def _set():\n    globals()['K'] = 2\n\n\n_set()")}, "macros/f.py"),
    "own: by a helper": ({"macros/f.py": MODULE.format("from lib.put import put", "put(__name__, 2)"), "lib/put.py": "import sys\n\n\ndef put(name, value):\n    sys.modules[name].K = value\n"}, "macros/f.py"),
    "own: by an alias of globals": ({"macros/f.py": MODULE.format("", "g = globals\ng()['K'] = 2")}, "macros/f.py"),
    "own: by builtins": ({"macros/f.py": MODULE.format("import builtins", "builtins.exec('K = 2')")}, "macros/f.py"),
    "own: by getattr": ({"macros/f.py": MODULE.format("import builtins", "getattr(builtins, 'exec')('K = 2')")}, "macros/f.py"),
    "a partial": ({"macros/f.py": "from functools import partial\n\nfrom conf import times\n\n_twice = partial(times, 2)\n\n\ndef f(value: int) -> int:\n    return _twice(value)\n", "conf.py": "def times(a, b):\n    return a * b\n"}, "macros/f.py"),
    "a wrapper": ({"macros/f.py": "from lib.wrap import times\n\n\ndef f(value: int) -> int:\n    return times(value)\n", "lib/wrap.py": "from functools import wraps\n\n\ndef twice(f):\n    @wraps(f)\n    def g(x):\n        return f(x) * 2\n    return g\n\n\n@twice\ndef times(value):\n    return value\n"}, "lib/wrap.py"),
    "a base class": ({"macros/f.py": "from lib.sub import Sub\n\n\ndef f(value: int) -> int:\n    return Sub().times(value)\n", "lib/sub.py": "from lib.base import Base\n\n\nclass Sub(Base):\n    pass\n", "lib/base.py": "class Base:\n    def times(self, value):\n        return value * 2\n"}, "lib/base.py"),
    "a hook of a base class": ({"macros/f.py": F.format("import lib.sub"), "lib/sub.py": "from lib.base import Base\n\n\nclass Sub(Base):\n    pass\n", "lib/base.py": "import conf\n\n\nclass Base:\n    def __init_subclass__(cls):\n        conf.K = 2\n"}, "lib/base.py"),
    "a mutable default": ({"macros/f.py": "def f(value: int, seen: list[int] = [2]) -> int:\n    return value * seen[0]\n"}, "macros/f.py"),
    "a file read at import": ({"macros/f.py": F.format("import lib.setup"), "lib/setup.py": "from pathlib import Path\n\nimport conf\n\nconf.K = int((Path(__file__).parent / 'k.txt').read_text())\n", "lib/k.txt": "2"}, "lib/k.txt"),
    "a helper next to it": ({"macros/f.py": "from helpers_of_shop import K\n\n\ndef f(value: int) -> int:\n    return value * K\n", "macros/helpers_of_shop.py": "K = 2\n"}, "macros/helpers_of_shop.py"),
    "a helper of the folder": ({"macros/f.py": "from macros.helpers_of_shop import K\n\n\ndef f(value: int) -> int:\n    return value * K\n", "macros/helpers_of_shop.py": "K = 2\n"}, "macros/helpers_of_shop.py"),
}  # fmt: skip
UNCHANGED = {
    "an import that has no effect": ({"macros/f.py": F.format("import lib.more"), "lib/more.py": "MORE = 2\n"}, "lib/more.py"),
    "a class that nobody reads": ({"macros/f.py": F.format("import lib.more"), "lib/more.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass More:\n    more: int = 2\n"}, "lib/more.py"),
    "a pattern that nobody reads": ({"macros/f.py": F.format("import re\n\n_PATTERN = re.compile('2')")}, "macros/f.py"),
    "a logger": ({"macros/f.py": F.format("import logging\n\nlogging.basicConfig(level=2)")}, "macros/f.py"),
    "a list of its own": ({"macros/f.py": F.format("import lib.more"), "lib/more.py": "MORE = []\nMORE.append(2)\n"}, "lib/more.py"),
    "a function that is not called": ({"macros/f.py": F.format("import lib.more"), "lib/more.py": "import conf\n\n\ndef more():\n    conf.K = 2\n"}, "lib/more.py"),
    "an effect that it can't see": ({"macros/f.py": "import lib.setup\n\n\ndef f(value: int) -> int:\n    return value\n", "lib/setup.py": SETUP}, "lib/setup.py"),
    "what runs as a script": ({"macros/f.py": F.format("import lib.more"), "lib/more.py": "import conf\n\nif __name__ == '__main__':\n    conf.K = 2\n"}, "lib/more.py"),
}  # fmt: skip
PYTHON = [name for name in CHANGED if name.startswith("own: ")]


def functions(root, files, edited=""):
    shop = Shop(root, "")
    for path, text in ({"conf.py": CONF} | files).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("2", "3") if path == edited else text)
    return load_project(shop.root, None, None, None).functions


def digests(tmp_path, case):
    files, edited = case
    return [functions(tmp_path, files, edit)["f"].digest for edit in ("", edited)]


@pytest.mark.parametrize("name", list(CHANGED))
def test_what_a_function_may_see(tmp_path, name):
    before, after = digests(tmp_path, CHANGED[name])
    assert before != after


@pytest.mark.parametrize("name", list(UNCHANGED))
def test_what_it_can_not_see(tmp_path, name):
    before, after = digests(tmp_path, UNCHANGED[name])
    assert before == after


@pytest.mark.parametrize("name", [*PYTHON, "of builtins"])
def test_names_that_code_may_change_are_not_translated(tmp_path, name):
    files, _ = CHANGED[name]
    translation = translate_function(functions(tmp_path, files)["f"], files["macros/f.py"])
    assert isinstance(translation, Obstacle)


def test_other_constants_are_translated(tmp_path):
    text = MODULE.format("import logging", "logging.basicConfig()\nPLACES = {}\nPLACES['a'] = 1")
    assert not isinstance(translate_function(functions(tmp_path, {"macros/f.py": text})["f"], text), Obstacle)


def test_a_library_that_is_not_installed_counts_by_its_content(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    files = {
        "macros/f.py": "from helpers_elsewhere import K\n\n\ndef f(value: int) -> int:\n    return value * K\n"
    }
    digests_of_library = []
    for number in (2, 2, 3):
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        (tmp_path / "elsewhere" / "helpers_elsewhere.py").write_text(f"K = {number}\n")
        digests_of_library.append(functions(tmp_path / "shop", files)["f"].libraries["helpers_elsewhere"])
    assert digests_of_library[0] == digests_of_library[1] != digests_of_library[2]
