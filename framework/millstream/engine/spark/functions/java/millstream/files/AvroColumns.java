package millstream.files;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import millstream.codecs.avro.AvroFormat;
import millstream.spark.HadoopSettings;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.types.StructType;

/**
 * Which declared column an Avro file lacks, or has with a type that does not fit: Spark's reader
 * gives NULL for the first, and reads a number without a logical type as a time.
 */
final class AvroColumns {
  private AvroColumns() {}

  /** Returns why a file can't be read; null if it can. */
  static String mismatch(String file, StructType fields) throws IOException {
    Schema schema = schema(FileLines.path(file));
    if (schema.getType() != Schema.Type.RECORD) {
      return "its values are not records";
    }
    for (String name : fields.fieldNames()) {
      if (schema.getField(name) == null) {
        return "it has no column '" + name + "'";
      }
    }
    try {
      AvroFormat.of(fields, List.of(schema.toString(), "plain", ""));
    } catch (IllegalArgumentException | AvroRuntimeException error) {
      return error.getMessage();
    }
    return null;
  }

  private static Schema schema(Path path) throws IOException {
    try (InputStream bytes = path.getFileSystem(HadoopSettings.settings()).open(path);
        DataFileStream<GenericRecord> records =
            new DataFileStream<>(bytes, new GenericDatumReader<>())) {
      return records.getSchema();
    }
  }
}
