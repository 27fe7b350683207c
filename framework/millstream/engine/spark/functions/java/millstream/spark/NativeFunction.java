package millstream.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import millstream.codecs.Failure;
import millstream.python.NativeBody;
import millstream.python.NativeCode;
import millstream.python.PythonArgument;
import millstream.python.PythonError;
import millstream.python.Unfit;
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
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * A Python function of the project, translated to Java: it is called as its Arrow form is, and says
 * the same.
 */
public final class NativeFunction implements ScalarFunction<Object> {
  private final Code code;
  private final Form form;
  private final StructType parameters;
  private final boolean deterministic;
  private transient NativeBody body;
  private transient PythonArgument[] readers;

  private NativeFunction(Code code, Form form, StructType parameters, boolean deterministic) {
    this.code = code;
    this.form = form;
    this.parameters = parameters;
    this.deterministic = deterministic;
  }

  /**
   * What a call has before its arguments: nothing, the location of the row, or whether the function
   * is called.
   */
  private enum Form {
    PLAIN,
    LOCATED,
    GUARDED
  }

  /** What is called. Equal ones do the same. */
  private static final class Code implements Serializable {
    private static final long serialVersionUID = 1;
    final String name;
    final String file;
    final String source;
    final List<String> kinds;
    final DataType returns;

    Code(String name, String file, String source, List<String> kinds, DataType returns) {
      this.name = name;
      this.file = file;
      this.source = source;
      this.kinds = kinds;
      this.returns = returns;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Code
          && name.equals(((Code) other).name)
          && source.equals(((Code) other).source);
    }

    @Override
    public int hashCode() {
      return Objects.hash(name, source);
    }
  }

  /**
   * Replaces the forms of a function that are registered under their names. Calls whose arguments
   * have other types than the translation knows go to the registered ones.
   */
  public static void register(
      FunctionRegistry registry,
      String name,
      String file,
      String source,
      List<String> kinds,
      String returns,
      boolean deterministic,
      String located,
      String guarded) {
    Code code = new Code(name, file, source, new ArrayList<>(kinds), DataType.fromDDL(returns));
    NativeCode.of(source); // a mistake of the translation is found before any query starts
    replace(registry, name, code, Form.PLAIN, deterministic);
    replace(registry, located, code, Form.LOCATED, false);
    replace(registry, guarded, code, Form.GUARDED, false);
  }

  private static void replace(
      FunctionRegistry registry, String called, Code code, Form form, boolean deterministic) {
    Function1<Seq<Expression>, Expression> python = registered(registry, called);
    Function1<Seq<Expression>, Expression> builder =
        new AbstractFunction1<>() {
          @Override
          public Expression apply(Seq<Expression> arguments) {
            List<Expression> parts = new ArrayList<>(CollectionConverters.asJava(arguments));
            if (form == Form.GUARDED && !parts.isEmpty() && isLocation(parts.get(0).dataType())) {
              parts.set(0, new IsNotNull(parts.get(0))); // a native function logs nothing
            }
            return fits(parts, code, form)
                ? call(parts, code, form, deterministic)
                : python.apply(arguments);
          }
        };
    registry.createOrReplaceTempFunction(called, builder, "scala_udf");
  }

  private static Function1<Seq<Expression>, Expression> registered(
      FunctionRegistry registry, String called) {
    for (FunctionIdentifier name : CollectionConverters.asJava(registry.listFunction())) {
      if (name.funcName().equals(called) && name.database().contains("session")) {
        return registry.lookupFunctionBuilder(name).get();
      }
    }
    throw new IllegalStateException(called + " is not registered");
  }

  private static Expression call(
      List<Expression> parts, Code code, Form form, boolean deterministic) {
    List<Expression> struct = new ArrayList<>();
    StructType parameters = new StructType();
    for (int index = 0; index < parts.size(); index++) {
      struct.add(Literal.create("_" + index, DataTypes.StringType));
      struct.add(parts.get(index));
      parameters =
          parameters.add("_" + index, parts.get(index).dataType(), parts.get(index).nullable());
    }
    Expression row = new CreateNamedStruct(Extensions.seq(struct));
    return V2ExpressionUtils.resolveScalarFunction(
        new NativeFunction(code, form, parameters, deterministic), Extensions.seq(row));
  }

  private static boolean fits(List<Expression> parts, Code code, Form form) {
    int before = form == Form.PLAIN ? 0 : 1;
    if (parts.size() != code.kinds.size() + before || parts.isEmpty()) {
      return false;
    }
    for (int index = before; index < parts.size(); index++) {
      if (!code.kinds
          .get(index - before)
          .equals(PythonArgument.kind(parts.get(index).dataType()))) {
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
      String kind = PythonArgument.kind(field.dataType());
      if (!kind.equals("str") && !kind.equals("int")) {
        return false;
      }
    }
    return true;
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
      throw Failure.of("a function failed: " + explain(error));
    }
  }

  private Object located(InternalRow row) {
    try {
      return result(row, 1);
    } catch (Unfit | PythonError error) {
      throw Failure.of("a function failed: " + location(row) + ": " + explain(error));
    }
  }

  private InternalRow guarded(InternalRow row) {
    if (row.isNullAt(0) || !row.getBoolean(0)) {
      return new GenericInternalRow(new Object[] {null, null});
    }
    try {
      return new GenericInternalRow(new Object[] {result(row, 1), null});
    } catch (Unfit | PythonError error) {
      return new GenericInternalRow(new Object[] {null, UTF8String.fromString(explain(error))});
    }
  }

  private String explain(RuntimeException error) {
    return error instanceof PythonError
        ? ((PythonError) error).explain(code.name, code.file)
        : code.name + "(): " + ((Unfit) error).explain(body.unprintable());
  }

  private String location(InternalRow row) {
    StructField[] fields = ((StructType) parameters.fields()[0].dataType()).fields();
    InternalRow location = row.getStruct(0, fields.length);
    StringBuilder text = new StringBuilder();
    for (int index = 0; index < fields.length; index++) {
      text.append(index > 0 ? ", " : "")
          .append(fields[index].name())
          .append(' ')
          .append(
              location.isNullAt(index) ? "None" : location.get(index, fields[index].dataType()));
    }
    return text.toString();
  }

  private Object result(InternalRow row, int before) {
    if (body == null) {
      readers = new PythonArgument[parameters.length()];
      for (int index = 0; index < readers.length; index++) {
        readers[index] = PythonArgument.of(parameters.fields()[index].dataType());
      }
      body = NativeCode.of(code.source);
    }
    Object[] arguments = new Object[parameters.length() - before];
    for (int index = 0; index < arguments.length; index++) {
      arguments[index] = readers[index + before].read(row, index + before);
    }
    return body.result().fitted(body.call(arguments));
  }

  @Override
  public Object produceResult(InternalRow input) {
    return invoke(input.getStruct(0, parameters.length()));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {parameters};
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
    return other instanceof NativeFunction
        && code.equals(((NativeFunction) other).code)
        && form == ((NativeFunction) other).form
        && parameters.equals(((NativeFunction) other).parameters);
  }

  @Override
  public int hashCode() {
    return Objects.hash(code, form, parameters);
  }
}
