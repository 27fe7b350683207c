package millstream.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/**
 * Whether a condition on the aggregates of a group holds, or held before the batch.
 *
 * <p>It computes the aggregates of the condition itself, next to the number of the batch in which
 * the group last had rows. A merge with a buffer of an earlier batch is the one with the state:
 * there, the condition held or not before.
 */
public final class Matched extends DeclarativeAggregate implements Serializable {
  private static final long NONE = -1;

  /** The condition, with the results of the aggregates as references by position. */
  private final Expression condition;

  /** The aggregates, then the filters of those that have one. */
  private final List<Expression> children;

  /** For each aggregate, the position of its filter among the children, or -1. */
  private final List<Integer> filters;

  /** Every group counts as one that matched. */
  private final boolean every;

  private final AttributeReference batch = attribute("batch", DataTypes.LongType);
  private final AttributeReference matched = attribute("matched", DataTypes.BooleanType);
  private final AttributeReference otherBatch = attribute("batch", DataTypes.LongType);
  private final AttributeReference otherMatched = attribute("matched", DataTypes.BooleanType);

  private Matched(
      Expression condition, List<Expression> children, List<Integer> filters, boolean every) {
    this.condition = condition;
    this.children = children;
    this.filters = filters;
    this.every = every;
  }

  static Matched of(Expression condition, boolean every) {
    List<Expression> functions = new ArrayList<>();
    List<Expression> conditions = new ArrayList<>();
    List<Integer> filtered = new ArrayList<>();
    Expression template =
        replaced(
            condition,
            value -> {
              if (!(value instanceof AggregateExpression call)) {
                return null;
              }
              Expression function = call.aggregateFunction();
              while (function instanceof RuntimeReplaceable shown) {
                function = shown.replacement();
              }
              if (call.isDistinct() || !(function instanceof DeclarativeAggregate)) {
                throw new IllegalArgumentException("matched can't compute " + call.sql());
              }
              functions.add(function);
              filtered.add(call.filter().isEmpty() ? -1 : conditions.size());
              call.filter().foreach(conditions::add);
              return new BoundReference(
                  functions.size() - 1, function.dataType(), function.nullable());
            });
    List<Integer> filters =
        filtered.stream().map(result -> result < 0 ? -1 : functions.size() + result).toList();
    List<Expression> children = new ArrayList<>(functions);
    children.addAll(conditions);
    return new Matched(evaluable(template), children, filters, every);
  }

  /**
   * Returns the number of the batch that a task belongs to, which is the same when the batch is
   * repeated.
   */
  public static long batchNumber() {
    TaskContext task = TaskContext.get();
    String number = task == null ? null : task.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY());
    return number == null ? 0 : Long.parseLong(number);
  }

  @Override
  public Seq<Expression> initialValues() {
    List<Expression> elements = new ArrayList<>();
    functions().forEach(function -> elements.addAll(list(function.initialValues())));
    elements.addAll(List.of(new Literal(NONE, DataTypes.LongType), literal(false)));
    return Extensions.seq(elements);
  }

  @Override
  public Seq<Expression> updateExpressions() {
    List<Expression> elements = new ArrayList<>();
    List<DeclarativeAggregate> functions = functions();
    for (int index = 0; index < functions.size(); index++) {
      elements.addAll(updated(functions.get(index), filters.get(index)));
    }
    elements.addAll(List.of(batch, matched));
    return Extensions.seq(elements);
  }

  private List<Expression> updated(DeclarativeAggregate function, int filter) {
    List<Expression> updates = list(function.updateExpressions());
    if (filter < 0) {
      return updates;
    }
    List<AttributeReference> before = list(function.aggBufferAttributes());
    List<Expression> elements = new ArrayList<>();
    for (int index = 0; index < updates.size(); index++) {
      elements.add(new If(children.get(filter), updates.get(index), before.get(index)));
    }
    return elements;
  }

  @Override
  public Seq<Expression> mergeExpressions() {
    List<Expression> elements = new ArrayList<>();
    functions().forEach(function -> elements.addAll(list(function.mergeExpressions())));
    Expression in = new If(earlier(otherBatch), holds(true), new Or(matched, otherMatched));
    elements.addAll(List.of(current(), new If(earlier(batch), holds(false), in)));
    return Extensions.seq(elements);
  }

  /** Returns whether a buffer is that of the state: it was written in another batch. */
  private static Expression earlier(Expression number) {
    Expression written = new GreaterThanOrEqual(number, new Literal(0L, DataTypes.LongType));
    return new And(written, new Not(new EqualTo(number, current())));
  }

  private static Expression current() {
    return new StaticInvoke(
        Matched.class,
        DataTypes.LongType,
        "batchNumber",
        Extensions.seq(),
        Extensions.seq(List.of()),
        false,
        false,
        false,
        Option.empty());
  }

  /** Returns whether the condition holds for one of the two buffers of a merge. */
  private Expression holds(boolean other) {
    List<DeclarativeAggregate> functions = functions();
    Expression expression =
        replaced(
            condition,
            value ->
                value instanceof BoundReference result
                    ? result(functions.get(result.ordinal()), other)
                    : null);
    return new Coalesce(Extensions.seq(expression, literal(false)));
  }

  private static Expression result(DeclarativeAggregate function, boolean other) {
    Expression expression = evaluable(function.evaluateExpression());
    if (!other) {
      return expression;
    }
    List<AttributeReference> columns = list(function.aggBufferAttributes());
    List<AttributeReference> others = list(function.inputAggBufferAttributes());
    return replaced(
        expression,
        value -> {
          int index = value instanceof Attribute ? columns.indexOf(value) : -1;
          return index < 0 ? null : others.get(index);
        });
  }

  @Override
  public Expression evaluateExpression() {
    return every ? literal(true) : new Or(matched, holds(false));
  }

  @Override
  public Seq<AttributeReference> aggBufferAttributes() {
    List<AttributeReference> elements = new ArrayList<>();
    functions().forEach(function -> elements.addAll(list(function.aggBufferAttributes())));
    elements.addAll(List.of(batch, matched));
    return Extensions.seq(elements);
  }

  @Override
  public Seq<AttributeReference> inputAggBufferAttributes() {
    List<AttributeReference> elements = new ArrayList<>();
    functions().forEach(function -> elements.addAll(list(function.inputAggBufferAttributes())));
    elements.addAll(List.of(otherBatch, otherMatched));
    return Extensions.seq(elements);
  }

  private List<DeclarativeAggregate> functions() {
    return children.subList(0, filters.size()).stream()
        .map(DeclarativeAggregate.class::cast)
        .toList();
  }

  private static AttributeReference attribute(String name, DataType type) {
    return new AttributeReference(
        name,
        type,
        false,
        Metadata.empty(),
        NamedExpression.newExprId(),
        Extensions.seq(List.of()));
  }

  private static Expression literal(boolean value) {
    return new Literal(value, DataTypes.BooleanType);
  }

  /**
   * Returns what computes an expression of which Spark's optimizer replaces parts, such as BETWEEN.
   */
  private static Expression evaluable(Expression expression) {
    return replaced(
        expression,
        value -> {
          if (value instanceof RuntimeReplaceable shown) {
            return evaluable(shown.replacement());
          }
          return value instanceof With shared ? evaluable(inlined(shared)) : null;
        });
  }

  private static Expression inlined(With shared) {
    List<CommonExpressionDef> definitions = list(shared.defs());
    return replaced(
        shared.child(),
        value -> {
          if (!(value instanceof CommonExpressionRef reference)) {
            return null;
          }
          return definitions.stream()
              .filter(one -> one.id().equals(reference.id()))
              .findFirst()
              .map(CommonExpressionDef::child)
              .orElse(null);
        });
  }

  /** Replaces parts of an expression, from its top; a null leaves one as it is. */
  private static Expression replaced(Expression expression, UnaryOperator<Expression> replacement) {
    Expression value = replacement.apply(expression);
    if (value != null) {
      return value;
    }
    return expression.mapChildren(
        new AbstractFunction1<Expression, Expression>() {
          @Override
          public Expression apply(Expression child) {
            return replaced(child, replacement);
          }
        });
  }

  private static <T> List<T> list(Seq<? extends T> all) {
    return new ArrayList<>(CollectionConverters.asJava(all));
  }

  @Override
  public Seq<Expression> children() {
    return Extensions.seq(children);
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> replacements) {
    return new Matched(condition, list(replacements), filters, every);
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public String prettyName() {
    return "matched";
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int index) {
    return Arrays.<Object>asList(condition, Extensions.seq(children), filters, every).get(index);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Matched;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Matched
        && condition.equals(((Matched) other).condition)
        && children.equals(((Matched) other).children)
        && filters.equals(((Matched) other).filters)
        && every == ((Matched) other).every;
  }

  @Override
  public int hashCode() {
    return 31 * condition.hashCode() + children.hashCode();
  }
}
