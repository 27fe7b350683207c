package millstream.files;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of SQL: from the address of a file, a line and where its block begins to where the
 * line is. As Spark reads the lines of a block in their order, equal ones have each their own
 * number.
 */
public final class NextFilePlace implements ScalarFunction<UTF8String> {
  /** Each task has a copy of its own, since Spark sends the function with it. */
  private transient FileLines.Numbers numbers;

  /** Called by generated code, which looks for it in this class alone. */
  public UTF8String invoke(UTF8String file, byte[] line, long start) {
    if (numbers == null) {
      numbers = new FileLines.Numbers();
    }
    String address = file.toString();
    return UTF8String.fromString(FilePlace.shown(address, numbers.next(address, line, start)));
  }

  @Override
  public UTF8String produceResult(InternalRow input) {
    return invoke(input.getUTF8String(0), input.getBinary(1), input.getLong(2));
  }

  /** Spark calls it once for each line, and in their order. */
  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType, DataTypes.BinaryType, DataTypes.LongType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.StringType;
  }

  @Override
  public String name() {
    return "next_file_place";
  }
}
