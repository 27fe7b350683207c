package millstream.python;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads an argument of a function as a value of Python. */
public interface PythonArgument {
  Object present(SpecializedGetters row, int index);

  default Object read(SpecializedGetters row, int index) {
    return row.isNullAt(index) ? null : present(row, index);
  }

  /**
   * What values of a type are in Python, as a translation's parameters are described; empty for
   * other types.
   */
  static String kind(DataType type) {
    if (type.equals(DataTypes.StringType)) {
      return "str";
    } else if (type instanceof LongType
        || type instanceof IntegerType
        || type instanceof ShortType
        || type instanceof ByteType) {
      return "int";
    } else if (type instanceof DoubleType || type instanceof FloatType) {
      return "float";
    } else if (type instanceof StructType) {
      StringBuilder text = new StringBuilder();
      for (StructField field : ((StructType) type).fields()) {
        text.append(text.length() > 0 ? "," : "")
            .append(field.name())
            .append(':')
            .append(kind(field.dataType()));
      }
      return "{" + text + "}";
    }
    if (type instanceof ArrayType) {
      return "[" + kind(((ArrayType) type).elementType()) + "]";
    }
    if (type instanceof DateType) {
      return "date";
    } else if (type instanceof TimestampType) {
      return "datetime";
    }
    return type instanceof BooleanType ? "bool" : "";
  }

  static PythonArgument of(DataType type) {
    if (type.equals(DataTypes.StringType)) {
      return (row, index) -> text(row.getUTF8String(index));
    } else if (type instanceof StructType) {
      return struct((StructType) type);
    } else if (type instanceof ArrayType) {
      return list(of(((ArrayType) type).elementType()));
    } else if (type instanceof DoubleType || type instanceof FloatType) {
      return (row, index) -> ((Number) row.get(index, type)).doubleValue();
    } else if (type instanceof DateType) {
      return (row, index) -> PythonTimes.date(row.getInt(index));
    } else if (type instanceof TimestampType) {
      return (row, index) -> PythonTimes.time(row.getLong(index));
    } else if (type instanceof BooleanType) {
      return (row, index) -> row.getBoolean(index);
    }
    return (row, index) -> ((Number) row.get(index, type)).longValue();
  }

  private static String text(UTF8String text) {
    if (!text.isValid()) {
      throw new Unfit("an argument is not valid UTF-8");
    }
    return text.toString();
  }

  private static PythonArgument list(PythonArgument element) {
    return (row, index) -> {
      ArrayData array = row.getArray(index);
      Object[] values = new Object[array.numElements()];
      for (int position = 0; position < values.length; position++) {
        values[position] = element.read(array, position);
      }
      return PythonValues.list(values);
    };
  }

  private static PythonArgument struct(StructType type) {
    StructField[] fields = type.fields();
    String[] names = type.fieldNames();
    int[] positions = PythonValues.positions(names);
    PythonArgument[] parts = new PythonArgument[fields.length];
    for (int index = 0; index < fields.length; index++) {
      parts[index] = of(fields[index].dataType());
    }
    return (row, index) -> {
      InternalRow struct = row.getStruct(index, fields.length);
      Object[] values = new Object[fields.length];
      for (int position = 0; position < fields.length; position++) {
        values[positions[position]] = parts[position].read(struct, position);
      }
      return values;
    };
  }
}
