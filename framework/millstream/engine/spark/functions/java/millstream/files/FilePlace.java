package millstream.files;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** A function of SQL: from the address of a file and a line to where that is, for errors. */
public final class FilePlace implements ScalarFunction<UTF8String> {
  /** Called by generated code, which looks for it in this class alone. */
  public UTF8String invoke(UTF8String file, byte[] line) {
    return UTF8String.fromString(of(file.toString(), line));
  }

  /** Returns the file and the number of the line. */
  public static String of(String file, byte[] line) {
    return shown(file, FileLines.number(file, line));
  }

  static String shown(String file, int number) {
    return "file " + FileLines.shown(file) + (number > 0 ? ", line " + number : "");
  }

  @Override
  public UTF8String produceResult(InternalRow input) {
    return invoke(input.getUTF8String(0), input.getBinary(1));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType, DataTypes.BinaryType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.StringType;
  }

  @Override
  public String name() {
    return "file_place";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FilePlace;
  }

  @Override
  public int hashCode() {
    return FilePlace.class.hashCode();
  }
}
