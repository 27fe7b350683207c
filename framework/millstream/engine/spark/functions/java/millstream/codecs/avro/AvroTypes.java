package millstream.codecs.avro;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import millstream.codecs.Texts;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** Which types of Spark hold which types of Avro. */
final class AvroTypes {
  private AvroTypes() {}

  /**
   * The logical types that change what a value means; values of all others are those of the type
   * below.
   */
  enum Logical {
    NONE,
    DATE,
    TIME,
    TIMESTAMP,
    LOCAL_TIMESTAMP,
    DECIMAL,
    UUID
  }

  /**
   * A column whose type can't hold what a schema describes: a mistake in a call, not in a value.
   */
  static final class Mismatch extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    Mismatch(String message) {
      super(message);
    }

    Mismatch in(String name) {
      String inner = getMessage();
      return new Mismatch(
          "field " + name + (inner.startsWith("field ") ? "." + inner.substring(6) : ": " + inner));
    }
  }

  static Logical logical(Schema schema) {
    LogicalType type = logicalType(schema);
    if (type instanceof LogicalTypes.Date) {
      return Logical.DATE;
    } else if (type instanceof LogicalTypes.TimeMillis || type instanceof LogicalTypes.TimeMicros) {
      return Logical.TIME;
    } else if (type instanceof LogicalTypes.TimestampMillis
        || type instanceof LogicalTypes.TimestampMicros) {
      return Logical.TIMESTAMP;
    } else if (type instanceof LogicalTypes.LocalTimestampMillis
        || type instanceof LogicalTypes.LocalTimestampMicros) {
      return Logical.LOCAL_TIMESTAMP;
    } else if (type instanceof LogicalTypes.Decimal) {
      return Logical.DECIMAL;
    } else if (type instanceof LogicalTypes.Uuid && schema.getType() == Schema.Type.STRING) {
      return Logical.UUID;
    }
    return Logical.NONE;
  }

  /**
   * Returns a valid logical type or null; Avro itself forgets that of a type which it renames to an
   * alias.
   */
  private static LogicalType logicalType(Schema schema) {
    return LogicalTypes.fromSchemaIgnoreInvalid(schema);
  }

  static LogicalTypes.Decimal decimal(Schema schema) {
    return (LogicalTypes.Decimal) logicalType(schema);
  }

  /** Whether a time or a timestamp counts milliseconds; otherwise it counts microseconds. */
  static boolean inMillis(Schema schema) {
    return logicalType(schema).getName().endsWith("-millis");
  }

  static void check(Schema schema, DataType type) {
    if (!holds(schema, type)) {
      throw mismatch(schema, type);
    }
  }

  static Mismatch mismatch(Schema schema, DataType type) {
    return new Mismatch("Avro's " + named(schema) + " is not " + Texts.a(type));
  }

  /**
   * Whether a type is that of a schema, a larger one, or a smaller one whose values are checked;
   * not what is in it.
   */
  private static boolean holds(Schema schema, DataType type) {
    Logical logical = logical(schema);
    switch (schema.getType()) {
      case NULL:
        return type instanceof NullType;
      case BOOLEAN:
        return type instanceof BooleanType;
      case INT:
        return logical == Logical.DATE
            ? type instanceof DateType
            : logical == Logical.TIME
                ? type instanceof IntegerType
                : type instanceof IntegerType
                    || type instanceof ShortType
                    || type instanceof ByteType
                    || type instanceof LongType;
      case LONG:
        return logical == Logical.TIMESTAMP
            ? type instanceof TimestampType
            : logical == Logical.LOCAL_TIMESTAMP
                ? type instanceof TimestampNTZType
                : type instanceof LongType;
      case FLOAT:
        return type instanceof FloatType || type instanceof DoubleType;
      case DOUBLE:
        return type instanceof DoubleType;
      case STRING:
      case ENUM:
        return type instanceof StringType;
      case BYTES:
      case FIXED:
        return logical == Logical.DECIMAL
            ? type.equals(decimalType(decimal(schema)))
            : type instanceof BinaryType;
      case ARRAY:
        return type instanceof ArrayType;
      case MAP:
        return type instanceof MapType && ((MapType) type).keyType() instanceof StringType;
      case RECORD:
        return type instanceof StructType
            && hasAll(
                schema.getFields().stream().map(Schema.Field::name).collect(Collectors.toList()),
                (StructType) type);
      default:
        return type instanceof StructType && hasAll(members(schema), (StructType) type);
    }
  }

  private static boolean hasAll(List<String> names, StructType type) {
    for (String column : type.fieldNames()) {
      if (!names.contains(column)) {
        throw new Mismatch("the schema has no field " + column);
      }
    }
    return true;
  }

  private static DataType decimalType(LogicalTypes.Decimal decimal) {
    return decimal.getPrecision() > DecimalType.MAX_PRECISION()
        ? null
        : new DecimalType(decimal.getPrecision(), decimal.getScale());
  }

  static DataType inner(DataType type) {
    return type instanceof MapType
        ? ((MapType) type).valueType()
        : ((ArrayType) type).elementType();
  }

  static boolean isNull(Schema union, int index) {
    return union.getTypes().get(index).getType() == Schema.Type.NULL;
  }

  /**
   * Whether a union is a struct: without null, it has several types that no single type of Spark
   * holds.
   */
  static boolean isStruct(Schema union) {
    return members(union).size() > 1 && largest(union) < 0;
  }

  /** Returns which field of a union's struct holds one of its types. */
  static int member(Schema union, int index) {
    int nulls = (int) IntStream.range(0, index).filter(i -> isNull(union, i)).count();
    return index - nulls;
  }

  /**
   * Returns the index of the only type besides null, or of the larger of two numbers; otherwise -1.
   */
  static int largest(Schema union) {
    List<Integer> others =
        IntStream.range(0, union.getTypes().size())
            .filter(i -> !isNull(union, i))
            .boxed()
            .collect(Collectors.toList());
    if (others.size() == 1) {
      return others.get(0);
    }
    return others.size() == 2
        ? Math.max(
            larger(union, others.get(0), others.get(1)),
            larger(union, others.get(1), others.get(0)))
        : -1;
  }

  private static int larger(Schema union, int small, int large) {
    Schema first = union.getTypes().get(small);
    Schema second = union.getTypes().get(large);
    boolean plain = logical(first) == Logical.NONE && logical(second) == Logical.NONE;
    boolean isInteger = first.getType() == Schema.Type.INT && second.getType() == Schema.Type.LONG;
    boolean fractional =
        first.getType() == Schema.Type.FLOAT && second.getType() == Schema.Type.DOUBLE;
    return plain && (isInteger || fractional) ? large : -1;
  }

  private static List<String> members(Schema union) {
    int count = member(union, union.getTypes().size());
    return IntStream.range(0, count).mapToObj(i -> "member" + i).collect(Collectors.toList());
  }

  static String why(Resolver.ErrorAction action) {
    if (action.error == Resolver.ErrorAction.ErrorType.MISSING_REQUIRED_FIELD) {
      for (Schema.Field field : action.reader.getFields()) {
        if (action.writer.getField(field.name()) == null && !field.hasDefaultValue()) {
          return "the writer's schema lacks field " + field.name() + ", which has no default";
        }
      }
    }
    return why(action.writer, action.reader);
  }

  static String why(Schema writer, Schema reader) {
    return "the writer's " + named(writer) + " can't be read as " + named(reader);
  }

  static String named(Schema schema) {
    switch (schema.getType()) {
      case RECORD:
      case ENUM:
        return schema.getType().name().toLowerCase(Locale.ROOT) + " " + schema.getFullName();
      case UNION:
        return "union of "
            + schema.getTypes().stream().map(AvroTypes::named).collect(Collectors.joining(", "));
      default:
        String name =
            schema.getType() == Schema.Type.FIXED
                ? "fixed(" + schema.getFixedSize() + ") " + schema.getFullName()
                : schema.getName();
        LogicalType type = logicalType(schema);
        if (type instanceof LogicalTypes.Decimal) {
          LogicalTypes.Decimal decimal = (LogicalTypes.Decimal) type;
          return "decimal(" + decimal.getPrecision() + "," + decimal.getScale() + ")";
        }
        return type == null ? name : type.getName();
    }
  }
}
