package millstream.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.codegen.BaseMutableProjection;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeFormatter;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.GeneratedClass;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Evaluates expressions over a row by generated code. Unlike those of Spark's projections, the
 * values are not copied: they are valid until the next row.
 */
final class RowFunction {

  private final MutableProjection generated;

  private RowFunction(MutableProjection generated) {
    this.generated = generated;
  }

  /**
   * Compiles bound expressions, whose values are put into an array from an index on; Spark keeps
   * compiled classes.
   */
  static RowFunction of(List<Expression> bound, Object[] values, int first) {
    CodegenContext context = new CodegenContext();
    List<ExprCode> codes =
        CollectionConverters.asJava(context.generateExpressions(Extensions.seq(bound), true));
    List<String> parts = new ArrayList<>();
    for (int i = 0; i < bound.size(); i++) {
      ExprCode code = codes.get(i);
      String type = CodeGenerator$.MODULE$.javaType(bound.get(i).dataType());
      String value =
          CodeGenerator$.MODULE$.isPrimitiveType(type)
              ? CodeGenerator$.MODULE$.boxedType(type) + ".valueOf(" + code.value() + ")"
              : "(java.lang.Object) " + code.value();
      parts.add(
          code.code()
              + "\nvalues[first + "
              + i
              + "] = "
              + code.isNull()
              + " ? null : "
              + value
              + ";");
    }
    String common = context.subexprFunctionsCode();
    String all =
        context.splitExpressionsWithCurrentInputs(
            Extensions.seq(parts), context.splitExpressionsWithCurrentInputs$default$2(),
            context.splitExpressionsWithCurrentInputs$default$3(),
                context.splitExpressionsWithCurrentInputs$default$4(),
            context.splitExpressionsWithCurrentInputs$default$5(),
                context.splitExpressionsWithCurrentInputs$default$6());
    String base = BaseMutableProjection.class.getName();
    String body =
        String.join(
            "\n",
            "public java.lang.Object generate(Object[] references) { return new"
                + " RowFunction(references); }",
            "class RowFunction extends " + base + " {",
            "private Object[] references;",
            "private Object[] values;",
            "private int first;",
            context.declareMutableStates(),
            "public RowFunction(Object[] references) {",
            "this.references = references;",
            context.initMutableStates(),
            "}",
            "public void initialize(int partitionIndex) {",
            context.initPartition(),
            "}",
            "public " + base + " target(InternalRow row) {",
            "values = ((" + GenericInternalRow.class.getName() + ") row).values();",
            "first = " + first + ";",
            "return this;",
            "}",
            "public InternalRow currentValue() { return null; }",
            "public java.lang.Object apply(java.lang.Object _i) {",
            "InternalRow " + context.INPUT_ROW() + " = (InternalRow) _i;",
            common,
            all,
            "return null;",
            "}",
            context.declareAddedFunctions(),
            "}");
    CodeAndComment code =
        CodeFormatter.stripOverlappingComments(
            new CodeAndComment(body, context.getPlaceHolderToComments()));
    GeneratedClass generated = CodeGenerator$.MODULE$.compile(code)._1();
    Object[] references = CollectionConverters.asJava(context.references()).toArray();
    return new RowFunction(
        ((MutableProjection) generated.generate(references))
            .target(new GenericInternalRow(values)));
  }

  void initialize(int partition) {
    generated.initialize(partition);
  }

  void apply(InternalRow row) {
    generated.apply(row);
  }
}
