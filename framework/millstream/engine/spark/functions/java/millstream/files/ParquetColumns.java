package millstream.files;

import java.io.IOException;
import millstream.spark.HadoopSettings;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Which declared column a Parquet file lacks; Spark itself fails if a type does not fit. */
final class ParquetColumns {
  private ParquetColumns() {}

  /** Returns why a file can't be read; null if it can. */
  static String mismatch(String file, StructType fields) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(
            HadoopInputFile.fromPath(FileLines.path(file), HadoopSettings.settings()))) {
      String missing = missing(fields, reader.getFileMetaData().getSchema());
      return missing == null ? null : "it has no column '" + missing + "'";
    }
  }

  private static String missing(StructType declared, GroupType group) {
    for (StructField field : declared.fields()) {
      Type type = find(group, field.name());
      if (type == null) {
        return field.name();
      }
      if (field.dataType() instanceof StructType struct && !type.isPrimitive()) {
        String name = missing(struct, type.asGroupType());
        if (name != null) {
          return field.name() + "." + name;
        }
      }
    }
    return null;
  }

  private static Type find(GroupType group, String name) {
    return group.getFields().stream()
        .filter(type -> type.getName().equalsIgnoreCase(name))
        .findFirst()
        .orElse(null);
  }
}
