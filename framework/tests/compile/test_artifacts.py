"""Files that a compile leaves behind."""

import json

import pytest

from millstream.compile.artifacts import artifact_path, write_artifacts
from millstream.compile.manifest import Compiled, Manifest, ManifestNode
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.target_folder import claim_folder
from millstream.project.secrets import Secret


def compiled(*names: str, config=None) -> Compiled:
    nodes = {
        NodeId("model", name): ManifestNode(
            id=NodeId("model", name),
            kind="model",
            name=name,
            path=f"models/{name}.sql",
            fqn=("shop", name),
            compiled_path=f"compiled/models/{name}.sql",
            config=config or {},
        )
        for name in names
    }
    return Compiled(Manifest(1, "0", "shop", "local", nodes, {}), (), dict.fromkeys(nodes, "select 1 as x"))


def test_files_end_with_a_line_end(tmp_path):
    write_artifacts(tmp_path, "target", compiled("a"))
    assert (tmp_path / "target/compiled/models/a.sql").read_text() == "select 1 as x\n"


def test_a_second_time_nothing_is_written(tmp_path):
    assert len(write_artifacts(tmp_path, "target", compiled("a", "b")).changed) == 2
    again = write_artifacts(tmp_path, "target", compiled("a", "b"))
    assert (again.changed, again.removed, again.unchanged) == ((), (), 2)


def test_only_own_files_are_removed(tmp_path):
    write_artifacts(tmp_path, "target", compiled("a", "b"))
    (tmp_path / "target/compiled/models/note.txt").write_text("mine")
    artifacts = write_artifacts(tmp_path, "target", compiled("a"))
    assert artifacts.removed == ("target/compiled/models/b.sql",)
    assert (tmp_path / "target/compiled/models/note.txt").exists()


def test_with_only_nothing_is_removed_and_the_manifest_is_whole(tmp_path):
    write_artifacts(tmp_path, "target", compiled("a", "b"))
    assert (
        write_artifacts(tmp_path, "target", compiled("b", "c"), node_ids=[NodeId("model", "c")]).removed == ()
    )
    assert set(json.loads((tmp_path / "target/manifest.json").read_text())["nodes"]) == {"model.b", "model.c"}


@pytest.mark.parametrize(
    ("compiled_path", "path"),
    [
        ("compiled/models/a.sql", "compiled/models/a.sql"),
        ("compiled/../shared/a.sql", "compiled/__/shared/a.sql"),
        ("compiled//abs/a.sql", "compiled/abs/a.sql"),
    ],
)
def test_files_stay_in_the_target_folder(compiled_path, path):
    assert artifact_path(compiled_path) == path


def test_secrets_do_not_reach_the_manifest(tmp_path):
    write_artifacts(tmp_path, "target", compiled("a", config={"password": Secret("swordfish")}))
    manifest = (tmp_path / "target/manifest.json").read_text()
    assert "swordfish" not in manifest
    assert "****" in manifest


@pytest.mark.parametrize("path", ["target", "target/compiled/models", "target/manifest.json"])
def test_what_is_in_the_way_is_named(tmp_path, path):
    if path != "target":
        claim_folder(tmp_path, "target")
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    if path.endswith(".json"):
        (tmp_path / path).mkdir()
    else:
        (tmp_path / path).write_text("mine")
    with pytest.raises(MillstreamError) as raised:
        write_artifacts(tmp_path, "target", compiled("a"))
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "MS702"
    assert diagnostic.help.startswith(f"move what obstructs {tmp_path}/target")
