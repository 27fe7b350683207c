from pathlib import Path

from pyspark.sql import functions as f

from millstream.core.expressions import quote_name


class Folder:
    def __init__(self, session, source, project):
        self.session = session
        self.path = str(Path(project.root) / source.settings["path"])
        columns = [column for column in source.columns if column.expression is None]
        self.schema = ", ".join(f"{quote_name(column.name)} {column.type}" for column in columns)

    def stream(self):
        return self._with_file(self.session.readStream.schema(self.schema).parquet(self.path))

    def after(self, position):
        files = f.array(*(f.lit(file.rpartition("/")[2]) for file in sorted(position.files)))
        return self.stream().where(~f.array_contains(files, f.col("_file")))

    def rows(self):
        return self._with_file(self.session.read.schema(self.schema).parquet(self.path))

    def between(self, part):
        files = part.end.files - (frozenset() if part.start is None else part.start.files)
        rows = self.session.read.schema(self.schema)
        return self._with_file(rows.parquet(*sorted(files)) if files else rows.parquet(self.path).limit(0))

    def _with_file(self, rows):
        return rows.select("*", f.col("_metadata.file_name").alias("_file"))


def connect(session, source, project):
    return Folder(session, source, project)
