"""How Spark writes the files of checkpoints."""

import pytest

from millstream.runner.checkpoints import checkpoint_settings

MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"


@pytest.mark.parametrize(
    ("checkpoints", "manager"),
    [
        ("{folder}", "FileSystemBasedCheckpointFileManager"),
        ("viewfs://remote/checkpoints", "FileContextBasedCheckpointFileManager"),
    ],
)
def test_files_on_this_machine_get_their_names_without_hadoops_file_context(
    first_spark, tmp_path, checkpoints, manager
):
    session, java = first_spark.newSession(), first_spark._jvm
    for name, value in checkpoint_settings(checkpoints.format(folder=tmp_path)).items():
        session.conf.set(name, value)
    settings = session._jsparkSession.sessionState().newHadoopConf()
    path = java.org.apache.hadoop.fs.Path(tmp_path.as_uri())
    spark = java.org.apache.spark.sql.execution.streaming.checkpointing
    made = spark.CheckpointFileManager.create(path, settings)
    assert made.getClass().getName() == f"{MANAGERS}.{manager}"
    # A file that is begun is not seen, and takes the place of one that is there.
    file = tmp_path / "0"
    for content in (b"one", b"two"):
        stream = made.createAtomic(java.org.apache.hadoop.fs.Path(file.as_uri()), True)
        stream.write(bytearray(content))
        assert not file.exists() or file.read_bytes() != content
        stream.close()
        assert file.read_bytes() == content
