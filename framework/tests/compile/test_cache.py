"""The cache never changes a result: whatever is edited, a compile with it equals one without."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millstream.compile import compile_project
from millstream.compile.manifest import Compiled

FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "p"\nenv-vars = ["MS_TEST_REGION", "MS_TEST_ZONE"]\n[tool.millstream.models]\nunbounded_state = "accept"\n[tool.millstream.vars]\nlimit = 3\n',
    "models/s.yml": """
sources:
  - name: app
    topics:
      - name: events
        columns: [{name: id, type: bigint}, {name: kind, type: string}, {name: amount, type: double}]
""",
    "macros/m.sql": "{% macro cents(c) %}{{ half(c) }} * 100{% endmacro %}",
    "macros/n.sql": "{% macro half(c) %}{{ c }} / 2{% endmacro %}",
    "macros/f.py": "def score(x: float) -> float:\n    return x\n",
    "seeds/kinds.csv": "kind,label\na,A\nb,B\n",
    "models/first.sql": "select e.id, e.kind, {{ cents('e.amount') }} as cents from {{ source('app', 'events') }} as e",
    "models/second.sql": "select f.*, k.label, score(f.cents) as s from {{ ref('first') }} as f join {{ ref('kinds') }} as k on f.kind = k.kind",
    "models/third.sql": "select id, count(*) as n from {{ ref('second') }} where n_limit > {{ var('limit') }} group by id".replace(
        "n_limit", "s"
    ),
    "models/fourth.sql": "{{ config(tags=['x']) }}select *, '{{ env_var('MS_TEST_REGION', 'none') }}' as region from {{ ref('third') }}",
}
EDITS = {
    "models/first.sql": [
        "e.kind,|",
        "as cents|as euros",
        "select e.id|select cast(e.id as string) as id",
        "'app', 'events'|'app', 'event'",
    ],
    "models/second.sql": [
        "join|left join",
        "k.label|k.lable",
        "score(f.cents)|f.cents",
        "ref('kinds')|ref('kindz')",
    ],
    "models/third.sql": ["count(*)|sum(s)", "group by id|group by 1", "var('limit')|var('limits', 4)"],
    "models/fourth.sql": [
        "tags=['x']|tags=['y']",
        "MS_TEST_REGION|MS_TEST_ZONE",
        "ref('third')|ref('first')",
        "config(tags|config(tagz",
    ],
    "macros/m.sql": ["* 100|* 1000", "half(c)|c", "cents(c)|cent(c)"],
    "macros/n.sql": ["/ 2|/ 3", "/ 2|as x, 1"],
    "macros/f.py": ["-> float|-> str", "x: float|x: str", "def score|def score2"],
    "seeds/kinds.csv": ["label|name", "b,B|b,1", "a,A|1,A"],
    "models/s.yml": ["double|decimal(10,2)", "string|int", "name: kind|name: sort", "sources|soures"],
    "pyproject.toml": ["limit = 3|limit = 5", 'name = "p"|name = "q"'],
}


PROFILES = (
    "p: {target: local, outputs: {local: {kafka: {bootstrap_servers: 'a:1', security_protocol: SASL_SSL, "
    "sasl_mechanism: PLAIN, sasl_username: shop, sasl_password: PASSWORD}}}}"
)


def compiled(root: Path, *, use_cache: bool) -> Compiled:
    project = compile_project(root, use_cache=use_cache)
    return Compiled(project.manifest, project.diagnostics, project.sql)


class Edited(RuleBasedStateMachine):
    """Edits, removes, adds and restores files in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()

    @initialize()
    def write(self) -> None:
        for path in FILES:
            self.restore(path)

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.root)

    @rule(path=st.sampled_from(sorted(FILES)))
    def restore(self, path: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(FILES[path])

    @rule(data=st.data(), path=st.sampled_from(sorted(EDITS)))
    def edit(self, data: st.DataObject, path: str) -> None:
        before, after = data.draw(st.sampled_from(EDITS[path])).split("|")
        if (self.root / path).exists():
            (self.root / path).write_text((self.root / path).read_text().replace(before, after, 1))

    @rule(path=st.sampled_from(sorted(set(FILES) - {"pyproject.toml"})))
    def remove(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    @rule(
        name=st.sampled_from(["extra", "kinds", "first"]), folder=st.sampled_from(["models", "models/more"])
    )
    def add(self, name: str, folder: str) -> None:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / folder / f"{name}.sql").write_text("select 1 as one")

    @rule(value=st.sampled_from(["eu", "us", None]))
    def environment(self, value: str | None) -> None:
        if value is None:
            self.patch.delenv("MS_TEST_REGION", raising=False)
        else:
            self.patch.setenv("MS_TEST_REGION", value)

    @rule(text=st.sampled_from(["describes", "other words"]))
    def describe(self, text: str) -> None:
        (self.root / "models/d.yml").write_text(
            f"models: [{{name: first, description: {text}, columns: [{{name: id, description: {text}}}]}}]"
        )

    @rule(damage=st.sampled_from(["", "\x00garbage", "{}"]), name=st.sampled_from(["compile", "snapshot"]))
    def damage_the_cache(self, damage: str, name: str) -> None:
        path = self.root / "target/cache" / f"{name}.msgpack"
        if path.exists():
            path.write_text(damage)

    @invariant()
    def same(self) -> None:
        if (self.root / "pyproject.toml").exists():
            assert compiled(self.root, use_cache=True) == compiled(self.root, use_cache=False)


Edited.TestCase.settings = settings(
    max_examples=10, stateful_step_count=12, suppress_health_check=list(HealthCheck)
)
TestEdited = Edited.TestCase


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    return tmp_path


def test_an_unchanged_project_is_taken_whole(root: Path) -> None:
    assert compile_project(root).from_cache == 0
    assert compile_project(root).from_cache == 4


def test_one_changed_model_leaves_the_others_alone(root: Path) -> None:
    compile_project(root)
    path = root / "models/third.sql"
    path.write_text(path.read_text() + " -- changed")
    assert compile_project(root).from_cache == 3


def test_changed_columns_reach_all_that_read_them(root: Path) -> None:
    compile_project(root)
    path = root / "models/first.sql"
    path.write_text(path.read_text().replace("select ", "select 1 as more, "))
    assert compile_project(root).from_cache == 1  # the columns of third are what they were


def test_models_with_mistakes_are_told_every_time(root: Path) -> None:
    path = root / "models/first.sql"
    path.write_text(path.read_text().replace("e.kind", "e.knd"))
    first, second = compile_project(root).diagnostics, compile_project(root).diagnostics
    assert first
    assert first == second


def test_a_warning_of_profiles_is_gone_once_it_is_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2hunter2")
    for password, codes in (("hunter2hunter2", ["MS113"]), ("\"{{ env_var('SHOP_PASSWORD') }}\"", [])):
        (root / "profiles.yml").write_text(PROFILES.replace("PASSWORD", password))
        assert [diagnostic.code for diagnostic in compile_project(root).diagnostics] == codes


def test_an_unwritable_target_only_costs_time(root: Path) -> None:
    (root / "target").write_text("a file where the folder should be")
    assert compile_project(root).diagnostics == ()


@pytest.mark.parametrize("name", ["compile", "snapshot"])
def test_a_flipped_bit_anywhere_is_a_cache_to_write_again(root: Path, name: str) -> None:
    file = root / f"target/cache/{name}.msgpack"
    expected = compiled(root, use_cache=False)
    for step in range(40):
        compile_project(root)
        other = root / f"target/cache/{'compile' if name == 'snapshot' else 'snapshot'}.msgpack"
        data = bytearray(file.read_bytes())
        data[len(data) * step // 40] ^= 1 << step % 8
        file.write_bytes(data)
        other.unlink()
        assert compile_project(root).from_cache == 0
        assert compiled(root, use_cache=True) == expected


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_special_file_is_noticed_despite_the_cache(root: Path, make: Callable[[Path], None]) -> None:
    compile_project(root)
    make(root / "models/special.sql")
    assert [diagnostic.code for diagnostic in compile_project(root).diagnostics] == ["MS102"]
    assert [diagnostic.code for diagnostic in compile_project(root).diagnostics] == ["MS102"]


def test_the_cache_holds_no_secret(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2hunter2")
    (root / "profiles.yml").write_text(PROFILES.replace("PASSWORD", "\"{{ env_var('SHOP_PASSWORD') }}\""))
    assert compile_project(root).diagnostics == ()
    assert compile_project(root).from_cache == 4
    for file in (root / "target").rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes()
