from typing import Annotated

from millstream.core.types import STRING
from millstream.project.shapes import describe_key
from millstream.sources.declaration import Declaration, GivenColumn
from millstream.sources.rows import RowShape, row_reader


class FolderShape(RowShape, kw_only=True):
    path: Annotated[str, describe_key("the folder, relative to the project")]


DECLARATION = Declaration(
    title="Parquet folder",
    key="parquet_folders",
    shape=FolderShape,
    read=row_reader("parquet_folder", "path"),
    unit="files",
    metadata=(GivenColumn("_file", STRING),),
)
