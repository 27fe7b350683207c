package millstream.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import millstream.codecs.Failure;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of SQL that fails if a Parquet file lacks a column, which Spark would read as NULL; it
 * is true otherwise.
 */
public final class ParquetColumns implements ScalarFunction<Boolean> {
  private final StructType fields;
  private transient volatile UTF8String last;

  public ParquetColumns(StructType fields) {
    this.fields = fields;
  }

  /** Called by generated code, which looks for it in this class alone. */
  public boolean invoke(UTF8String file) {
    if (!file.equals(last)) {
      check(file.toString());
      last = file.copy();
    }
    return true;
  }

  private void check(String file) {
    String missing;
    try (ParquetFileReader reader =
        ParquetFileReader.open(
            HadoopInputFile.fromPath(FileLines.path(file), new Configuration()))) {
      missing = missing(fields, reader.getFileMetaData().getSchema());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    if (missing != null) {
      throw Failure.of(
          "bad file: " + FileLines.shown(file) + ": it has no column '" + missing + "'");
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

  @Override
  public Boolean produceResult(InternalRow input) {
    return invoke(input.getUTF8String(0));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  /**
   * Deterministic conditions of a file's address are evaluated by the driver, for all files, and
   * others are moved below them, where a missing column is NULL.
   */
  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public String name() {
    return "has_parquet_columns";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ParquetColumns && fields.equals(((ParquetColumns) other).fields);
  }

  @Override
  public int hashCode() {
    return fields.hashCode();
  }
}
