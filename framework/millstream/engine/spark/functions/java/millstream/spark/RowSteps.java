package millstream.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.AggregatingAccumulator;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataType;
import org.codehaus.commons.compiler.CompileException;
import org.codehaus.commons.compiler.InternalCompilerException;
import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * An optimized plan above the rows of a leaf, as steps. The first columns of the frame are those of
 * the leaf that the steps need.
 */
final class RowSteps implements Serializable {
  private final List<RowStep> steps = new ArrayList<>();
  private DataType[] leafTypes;
  private final transient List<Attribute> columns = new ArrayList<>();
  private final transient Map<ExprId, Integer> positions = new HashMap<>();
  private final transient Map<String, AggregatingAccumulator> observed = new LinkedHashMap<>();
  private int width;
  private transient int unfolded = -1;

  /** The fields of the structs that the last such step gives. */
  private transient Set<ExprId> fields = Set.of();

  private RowSteps() {}

  /** Returns the steps; null if the plan has other operators than those that steps exist for. */
  static RowSteps of(LogicalPlan plan) {
    RowSteps steps = new RowSteps();
    return steps.add(plan, plan.outputSet()) ? steps : null;
  }

  /**
   * Returns a fresh path: the functions that expressions call have states, so tasks can't share
   * one.
   */
  RowPath path() {
    return new RowPath(leafTypes, width, steps);
  }

  /**
   * Whether the JVM takes the code: it limits the size of methods and classes. Spark interprets
   * what it does not take.
   */
  boolean compiles() {
    try {
      path();
      return true;
    } catch (Exception error) {
      if (error instanceof CompileException || error instanceof InternalCompilerException) {
        return false;
      }
      throw error;
    }
  }

  /** Returns the columns of the leaf that are needed. */
  List<Attribute> needed() {
    return columns.subList(0, leafTypes.length);
  }

  /** Returns where the columns of a plan are in the frame. */
  int[] positions(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.output()).stream()
        .mapToInt(column -> positions.get(column.exprId()))
        .toArray();
  }

  /** Returns what is observed, by name. */
  Map<String, AggregatingAccumulator> observed() {
    return observed;
  }

  /** Adds what a plan does; `read` are columns that operators above it read. */
  private boolean add(LogicalPlan plan, AttributeSet read) {
    if (plan instanceof Filter filter) {
      return add(filter.child(), with(read, plan)) && filter(filter.condition());
    }
    if (plan instanceof Project project) {
      return add(project.child(), with(read, plan))
          && computed(CollectionConverters.asJava(project.projectList()));
    }
    if (plan instanceof Generate generate) {
      return unfolded(generate, with(read, plan));
    }
    if (plan instanceof CollectMetrics metrics) {
      return add(metrics.child(), with(read, plan)) && observed(metrics);
    }
    if (!(plan instanceof LogicalRDD)) {
      return false;
    }
    List<Attribute> needed =
        CollectionConverters.asJava(plan.output()).stream().filter(read::contains).toList();
    leafTypes = needed.stream().map(Attribute::dataType).toArray(DataType[]::new);
    needed.forEach(this::put);
    return true;
  }

  private static AttributeSet with(AttributeSet read, LogicalPlan plan) {
    return read.$plus$plus(plan.references());
  }

  private int put(Attribute column) {
    positions.put(column.exprId(), width);
    columns.add(column);
    return width++;
  }

  private boolean filter(Expression condition) {
    Expression bound = bound(condition);
    if (bound == null) {
      return false;
    }
    int last = steps.size() - 1;
    if (last == unfolded && needsAny(condition, fields)) {
      steps.set(last, steps.get(last).withoutNulls());
    }
    steps.add(new RowStep.Filtered(bound));
    return true;
  }

  private boolean computed(List<NamedExpression> items) {
    List<Expression> values = new ArrayList<>();
    int first = width;
    for (NamedExpression expression : items) {
      Expression value =
          expression instanceof Alias alias ? alias.child() : (Expression) expression;
      if (value instanceof AttributeReference column) {
        if (!positions.containsKey(column.exprId())) {
          return false;
        }
        positions.put(expression.exprId(), positions.get(column.exprId()));
        continue;
      }
      Expression bound = bound(value);
      if (bound == null) {
        return false;
      }
      values.add(bound);
      put(expression.toAttribute());
    }
    if (!values.isEmpty()) {
      steps.add(new RowStep.Computed(values, first));
    }
    return true;
  }

  /**
   * The structs of `inline(array(…))`, also of an array that is a column, are not put into an
   * array.
   */
  private boolean unfolded(Generate generate, AttributeSet read) {
    if (generate.outer() || !(generate.generator() instanceof Inline inline)) {
      return false;
    }
    LogicalPlan below = generate.child();
    Expression array = inline.child();
    List<NamedExpression> others = List.of();
    if (below instanceof Project project) {
      others = new ArrayList<>(CollectionConverters.asJava(project.projectList()));
      for (NamedExpression expression : List.copyOf(others)) {
        if (expression instanceof Alias alias
            && array instanceof AttributeReference column
            && column.exprId().equals(expression.exprId())) {
          array = alias.child();
          others.remove(expression);
        }
      }
      read = with(read, project);
      below = project.child();
    }
    if (!add(below, read) || !computed(others)) {
      return false;
    }
    List<Expression> parts =
        array instanceof CreateArray created
            ? CollectionConverters.asJava(created.children())
            : List.of(array);
    List<Expression> bound = new ArrayList<>();
    parts.forEach(part -> bound.add(bound(part)));
    List<Attribute> attributes = CollectionConverters.asJava(generate.generatorOutput());
    RowStep.Fields structFields =
        new RowStep.Fields(
            attributes.stream().map(Attribute::dataType).toArray(DataType[]::new), width, false);
    attributes.forEach(this::put);
    if (bound.contains(null)) {
      return false;
    }
    unfolded = steps.size();
    fields = attributes.stream().map(Attribute::exprId).collect(Collectors.toSet());
    steps.add(
        array instanceof CreateArray
            ? new RowStep.Unfolded(bound, structFields)
            : new RowStep.Inlined(bound.get(0), structFields));
    return true;
  }

  private boolean observed(CollectMetrics metrics) {
    List<Expression> functions = new ArrayList<>();
    for (NamedExpression expression : CollectionConverters.asJava(metrics.metrics())) {
      functions.add(
          replaced((Expression) expression, column -> columns.get(positions.get(column.exprId()))));
    }
    steps.add(new RowStep.Observed(observed.size()));
    return !functions.contains(null)
        && observed.put(
                metrics.name(),
                AggregatingAccumulator.apply(Extensions.seq(functions), Extensions.seq(columns)))
            == null;
  }

  /** Returns an expression over the frame, or null if it reads something else. */
  private Expression bound(Expression expression) {
    return replaced(
        expression,
        column ->
            new BoundReference(
                positions.get(column.exprId()), column.dataType(), column.nullable()));
  }

  private Expression replaced(
      Expression expression, Function<AttributeReference, Expression> replacement) {
    boolean isBound =
        CollectionConverters.asJava(expression.references().toSeq()).stream()
            .allMatch(column -> positions.containsKey(column.exprId()));
    return !isBound
        ? null
        : expression.transform(
            new AbstractPartialFunction<Expression, Expression>() {
              @Override
              public boolean isDefinedAt(Expression part) {
                return part instanceof AttributeReference;
              }

              @Override
              @SuppressWarnings("unchecked")
              public <A extends Expression, B> B applyOrElse(A a, Function1<A, B> other) {
                return a instanceof AttributeReference column
                    ? (B) replacement.apply(column)
                    : other.apply(a);
              }
            });
  }

  /** Whether a condition does not hold if some columns are null. */
  private static boolean needsAny(Expression condition, Set<ExprId> columns) {
    if (condition instanceof And both) {
      return needsAny(both.left(), columns) || needsAny(both.right(), columns);
    }
    if (condition instanceof Or either) {
      return needsAny(either.left(), columns) && needsAny(either.right(), columns);
    }
    return condition instanceof IsNotNull there
        && there.child() instanceof AttributeReference column
        && columns.contains(column.exprId());
  }
}
