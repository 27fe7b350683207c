from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from millstream.core.own_folder import OWN_FOLDER
from millstream.project.folders import broker_folder, folder_name, target_folder, target_of_folder
from millstream.project.values import Target

NAMES = st.one_of(st.sampled_from(["broker", "Broker", ".", "..", "@62roker", "a/b", "kafka"]), st.text())


def test_a_usual_name_is_the_folder_s():
    assert folder_name("kafka") == "kafka"
    assert folder_name("local_2") == "local_2"


@given(NAMES, NAMES)
def test_no_two_targets_share_a_folder_and_none_has_the_broker_s(one, other):
    assert (folder_name(one) == folder_name(other)) == (one == other)
    assert target_of_folder(folder_name(one)) == one or not one
    root = Path("/project")
    folder = target_folder(root, Target("shop", one, {}))
    assert folder != broker_folder(root)
    assert folder.parent == root / OWN_FOLDER
    assert folder.name not in {".", ".."}
