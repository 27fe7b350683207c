"""Files of tables in S3 that are read without Spark, by Arrow's client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from millstream.project.s3 import S3

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem


class S3Files(Struct, frozen=True):
    client: S3FileSystem

    def read(self, path: str) -> bytes | None:
        try:
            with self.client.open_input_stream(path.removeprefix(S3)) as stream:
                content: bytes = stream.read()
        except FileNotFoundError:
            return None
        return content

    def paths(self, folder: str) -> list[str]:
        from pyarrow.fs import FileSelector

        key = folder.removeprefix(S3)
        infos = self.client.get_file_info(FileSelector(key, recursive=True, allow_not_found=True))
        return [info.path.removeprefix(f"{key}/") for info in infos if info.is_file]
