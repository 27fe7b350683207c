package millstream.spark;

import java.io.Serializable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** A Python function of the project, translated to Java: it is called as its Arrow form is, and says the same. */
public final class NativeFunction implements ScalarFunction<Object> {
  private final Code code;
  private final Form form;
  private final StructType given;
  private final boolean deterministic;
  private transient NativeBody body;

  private NativeFunction(Code code, Form form, StructType given, boolean deterministic) {
    this.code = code;
    this.form = form;
    this.given = given;
    this.deterministic = deterministic;
  }

  /** What a call has before its arguments: nothing, the location of the row, or whether the function is called. */
  private enum Form { PLAIN, LOCATED, GUARDED }

  /** What is called. Equal ones do the same. */
  private static final class Code implements Serializable {
    private static final long serialVersionUID = 1;
    final String name;
    final String file;
    final String source;
    final List<String> kinds;
    final DataType returns;
    final boolean optional;

    Code(String name, String file, String source, List<String> kinds, DataType returns, boolean optional) {
      this.name = name;
      this.file = file;
      this.source = source;
      this.kinds = kinds;
      this.returns = returns;
      this.optional = optional;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Code && name.equals(((Code) other).name) && source.equals(((Code) other).source);
    }

    @Override
    public int hashCode() {
      return Objects.hash(name, source);
    }
  }

  /**
   * Replaces the forms of a function that are registered under their names. Calls whose arguments have other types
   * than the translation knows go to the registered ones.
   */
  public static void register(
      FunctionRegistry registry, String name, String file, String source, List<String> kinds, String returns,
      boolean optional, boolean deterministic, String located, String guarded) {
    Code code = new Code(name, file, source, new ArrayList<>(kinds), DataType.fromDDL(returns), optional);
    NativeCode.of(source);  // a mistake of the translation is found before any query starts
    replace(registry, name, code, Form.PLAIN, deterministic);
    replace(registry, located, code, Form.LOCATED, false);
    replace(registry, guarded, code, Form.GUARDED, false);
  }

  private static void replace(
      FunctionRegistry registry, String called, Code code, Form form, boolean deterministic) {
    Function1<Seq<Expression>, Expression> python = registered(registry, called);
    Function1<Seq<Expression>, Expression> builder = new AbstractFunction1<>() {
      @Override
      public Expression apply(Seq<Expression> arguments) {
        List<Expression> parts = new ArrayList<>(CollectionConverters.asJava(arguments));
        if (form == Form.GUARDED && !parts.isEmpty() && isLocation(parts.get(0).dataType())) {
          parts.set(0, new IsNotNull(parts.get(0)));  // a native function logs nothing
        }
        return fits(parts, code, form) ? call(parts, code, form, deterministic) : python.apply(arguments);
      }
    };
    registry.createOrReplaceTempFunction(called, builder, "scala_udf");
  }

  private static Function1<Seq<Expression>, Expression> registered(FunctionRegistry registry, String called) {
    for (FunctionIdentifier name : CollectionConverters.asJava(registry.listFunction())) {
      if (name.funcName().equals(called) && name.database().contains("session")) {
        return registry.lookupFunctionBuilder(name).get();
      }
    }
    throw new IllegalStateException(called + " is not registered");
  }

  private static Expression call(List<Expression> parts, Code code, Form form, boolean deterministic) {
    List<Expression> struct = new ArrayList<>();
    StructType given = new StructType();
    for (int index = 0; index < parts.size(); index++) {
      struct.add(Literal.create("_" + index, DataTypes.StringType));
      struct.add(parts.get(index));
      given = given.add("_" + index, parts.get(index).dataType(), parts.get(index).nullable());
    }
    Expression row = new CreateNamedStruct(List$.MODULE$.from(CollectionConverters.asScala(struct)));
    return V2ExpressionUtils.resolveScalarFunction(
        new NativeFunction(code, form, given, deterministic),
        List$.MODULE$.from(CollectionConverters.asScala(List.of(row))));
  }

  private static boolean fits(List<Expression> parts, Code code, Form form) {
    int before = form == Form.PLAIN ? 0 : 1;
    if (parts.size() != code.kinds.size() + before || parts.isEmpty()) {
      return false;
    }
    for (int index = before; index < parts.size(); index++) {
      if (!code.kinds.get(index - before).equals(kind(parts.get(index).dataType()))) {
        return false;
      }
    }
    return form != Form.LOCATED || isLocation(parts.get(0).dataType());
  }

  private static boolean isLocation(DataType type) {
    if (!(type instanceof StructType)) {
      return false;
    }
    for (StructField field : ((StructType) type).fields()) {
      if (!kind(field.dataType()).equals("str") && !kind(field.dataType()).equals("int")) {
        return false;
      }
    }
    return true;
  }

  private static String kind(DataType type) {
    if (type.equals(DataTypes.StringType)) {
      return "str";
    } else if (type.equals(DataTypes.LongType) || type.equals(DataTypes.IntegerType)
        || type.equals(DataTypes.ShortType) || type.equals(DataTypes.ByteType)) {
      return "int";
    } else if (type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType)) {
      return "float";
    }
    return type.equals(DataTypes.BooleanType) ? "bool" : "";
  }

  /** Called by generated code, which looks for it in this class alone. */
  public Object invoke(InternalRow row) {
    switch (form) {
      case GUARDED:
        return guarded(row);
      case LOCATED:
        return row.isNullAt(0) ? null : located(row);
      default:
        return plain(row);
    }
  }

  private Object plain(InternalRow row) {
    try {
      return result(row, 0);
    } catch (Unfit | PythonError error) {
      throw Failure.of("a function failed: " + told(error));
    }
  }

  private Object located(InternalRow row) {
    try {
      return result(row, 1);
    } catch (Unfit | PythonError error) {
      throw Failure.of("a function failed: " + location(row) + ": " + told(error));
    }
  }

  private InternalRow guarded(InternalRow row) {
    if (row.isNullAt(0) || !row.getBoolean(0)) {
      return new GenericInternalRow(new Object[] {null, null});
    }
    try {
      return new GenericInternalRow(new Object[] {result(row, 1), null});
    } catch (Unfit | PythonError error) {
      return new GenericInternalRow(new Object[] {null, UTF8String.fromString(told(error))});
    }
  }

  private String told(RuntimeException error) {
    return error instanceof PythonError
        ? ((PythonError) error).told(code.name, code.file)
        : code.name + "(): " + error.getMessage();
  }

  private String location(InternalRow row) {
    StructField[] fields = ((StructType) given.fields()[0].dataType()).fields();
    InternalRow place = row.getStruct(0, fields.length);
    StringBuilder found = new StringBuilder();
    for (int index = 0; index < fields.length; index++) {
      found.append(index > 0 ? ", " : "").append(fields[index].name()).append(' ')
          .append(place.isNullAt(index) ? "None" : place.get(index, fields[index].dataType()));
    }
    return found.toString();
  }

  private Object result(InternalRow row, int before) {
    Object[] arguments = new Object[given.length() - before];
    for (int index = 0; index < arguments.length; index++) {
      arguments[index] = argument(row, index + before);
    }
    if (body == null) {
      body = NativeCode.of(code.source);
    }
    return fitted(body.call(arguments));
  }

  private Object argument(InternalRow row, int index) {
    if (row.isNullAt(index)) {
      return null;
    }
    DataType type = given.fields()[index].dataType();
    if (type instanceof org.apache.spark.sql.types.StringType) {
      UTF8String text = row.getUTF8String(index);
      if (!text.isValid()) {
        throw new Unfit("an argument is not valid UTF-8");
      }
      return text.toString();
    }
    Object value = row.get(index, type);
    if (value instanceof Float) {
      return ((Float) value).doubleValue();
    }
    return value instanceof Number && !(value instanceof Double) ? (Object) ((Number) value).longValue() : value;
  }

  /** Why a result can't be stored. */
  private static final class Unfit extends RuntimeException {
    private static final long serialVersionUID = 1;

    Unfit(String message) {
      super(message, null, false, false);
    }
  }

  /** Checks a result as {@code runner/python/fitting.py} does. */
  private Object fitted(Object value) {
    if (value == null) {
      if (code.optional) {
        return null;
      }
      throw new Unfit("returned None, whose hint is not optional: " + typeName());
    }
    if (code.returns.equals(DataTypes.LongType)) {
      if (value instanceof Long) {
        return value;
      }
      if (value instanceof Double && (Double) value == Math.rint((Double) value)
          && (Double) value >= -0x1p63 && (Double) value < 0x1p63) {
        return ((Double) value).longValue();
      }
    } else if (code.returns.equals(DataTypes.DoubleType)) {
      if (value instanceof Double) {
        return value;
      }
      if (value instanceof Long && ((long) (double) (Long) value) == (Long) value && (Long) value != Long.MAX_VALUE) {
        return (double) (Long) value;
      }
      if (value instanceof BigInteger) {
        double found = ((BigInteger) value).doubleValue();
        if (!Double.isInfinite(found) && new java.math.BigDecimal(found).toBigIntegerExact().equals(value)) {
          return found;
        }
      }
    } else if (code.returns.equals(DataTypes.BooleanType) && value instanceof Boolean) {
      return value;
    } else if (code.returns.equals(DataTypes.StringType) && value instanceof String) {
      return UTF8String.fromString((String) value);
    }
    throw new Unfit("returned " + shown(value) + ", which does not fit " + typeName());
  }

  private String typeName() {
    return code.returns.catalogString();
  }

  /** The start of a value on one line, as {@code fitting.shown} has it. */
  private String shown(Object value) {
    String text = String.join(" ", PythonTexts.repr(value, body.unprintable()).trim().split("\\s+"));
    return text.codePointCount(0, text.length()) <= 80
        ? text
        : text.substring(0, text.offsetByCodePoints(0, 80)) + "…";
  }

  @Override
  public Object produceResult(InternalRow input) {
    return invoke(input.getStruct(0, given.length()));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {given};
  }

  @Override
  public DataType resultType() {
    return form == Form.GUARDED
        ? new StructType().add("value", code.returns, true).add("error", DataTypes.StringType, true)
        : code.returns;
  }

  @Override
  public boolean isDeterministic() {
    return deterministic;
  }

  @Override
  public String name() {
    return code.name;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NativeFunction && code.equals(((NativeFunction) other).code)
        && form == ((NativeFunction) other).form && given.equals(((NativeFunction) other).given);
  }

  @Override
  public int hashCode() {
    return Objects.hash(code, form, given);
  }
}
