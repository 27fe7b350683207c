package millstream.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import millstream.kafka.RecordColumns;
import millstream.kafka.RecordSource;
import millstream.kafka.Records;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Nondeterministic;
import org.apache.spark.sql.catalyst.optimizer.InlineCTE;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.AggregatingAccumulator;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.util.Utils;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;

/**
 * Makes the records of a query in the tasks that send them. What its SQL computes of single rows is
 * planned and compiled once, when the query starts, instead of in each batch, and its values are
 * not copied into rows of Spark.
 */
public final class RecordMaker {
  private final Dataset<Row> rows;
  private final RecordColumns columns;
  private final Broadcast<Paths> paths;
  private final Map<String, AggregatingAccumulator> observed;

  /**
   * Where the columns of the rows are among those of a topic; null if the rows are not the records
   * of one.
   */
  private final int[] positions;

  private RecordMaker(
      Dataset<Row> rows,
      RecordColumns columns,
      Broadcast<Paths> paths,
      Map<String, AggregatingAccumulator> observed,
      int[] positions) {
    this.rows = rows;
    this.columns = columns;
    this.paths = paths;
    this.observed = observed;
    this.positions = positions;
  }

  /** Returns what makes the records of a stream; null if Spark must do that in each batch. */
  public static RecordMaker of(org.apache.spark.sql.Dataset<Row> records) {
    Dataset<Row> rows = (Dataset<Row>) records;
    SparkSession session = rows.sparkSession();
    LogicalPlan plan = new InlineCTE(false, false).apply(rows.queryExecution().analyzed());
    LogicalPlan base = base(plan);
    if (base == plan) {
      return null;
    }
    // Its rows are not known, or the optimizer would calculate with them.
    LogicalPlan leaf =
        new LogicalRDD(
            base.output(),
            session.sparkContext().emptyRDD(ClassTag$.MODULE$.apply(InternalRow.class)),
            LogicalRDD.apply$default$3(),
            LogicalRDD.apply$default$4(),
            false,
            Option.empty(),
            session,
            Option.empty(),
            Option.empty());
    LogicalPlan above =
        Dataset.ofRows(session, above(plan, base, leaf)).queryExecution().optimizedPlan();
    RowSteps steps = RowSteps.of(above);
    if (steps == null || !steps.compiles()) {
      return null;
    }
    Paths paths = new Paths(Utils.serialize(steps));
    return new RecordMaker(
        Dataset.ofRows(session, new Project(named(steps.needed()), base)),
        RecordColumns.of(above.schema(), steps.positions(above)),
        JavaSparkContext.fromSparkContext(session.sparkContext()).broadcast(paths),
        steps.observed(),
        base instanceof StreamingRelationV2 ? Host.positions(steps.needed()) : null);
  }

  /**
   * Returns the last operator that is not of single rows, or that Spark must plan in each batch.
   */
  private static LogicalPlan base(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (isOfSingleRows(node)
        && CollectionConverters.asJava(node.expressions()).stream()
            .allMatch(RecordMaker::isOfTheRow)) {
      node = below(node);
    }
    return node;
  }

  private static boolean isOfSingleRows(LogicalPlan plan) {
    return plan instanceof Project
        || plan instanceof Filter
        || plan instanceof CollectMetrics
        || plan instanceof SubqueryAlias
        || plan instanceof View
        || (plan instanceof Generate generate
            && generate.generator() instanceof Inline
            && !generate.outer());
  }

  /** Whether a value does not depend on the batch, on a partition, on other rows, or on Python. */
  private static boolean isOfTheRow(Expression value) {
    return !value.containsPattern(TreePattern.CURRENT_LIKE())
        && !value.containsPattern(TreePattern.PYTHON_UDF())
        && !value.containsPattern(TreePattern.PLAN_EXPRESSION())
        && !value.exists(part -> part instanceof Nondeterministic);
  }

  private static LogicalPlan above(LogicalPlan plan, LogicalPlan base, LogicalPlan leaf) {
    return plan == base
        ? leaf
        : plan.withNewChildren(Extensions.seq(List.of(above(below(plan), base, leaf))));
  }

  private static LogicalPlan below(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.children()).get(0);
  }

  private static Seq<NamedExpression> named(List<Attribute> columns) {
    List<NamedExpression> named = new ArrayList<>();
    for (Attribute column : columns) {
      named.add(
          new Alias(
              column,
              "_" + named.size(),
              NamedExpression.newExprId(),
              Extensions.seq(List.of()),
              Option.empty(),
              Extensions.seq(List.of())));
    }
    return Extensions.seq(named);
  }

  /** Returns the rows of the stream from which the records are made. */
  public Dataset<Row> rows() {
    return rows;
  }

  /** Sends the records of a batch of the rows; returns what was observed of them, by name. */
  public Map<String, Row> send(
      org.apache.spark.sql.Dataset<Row> batch, Map<String, String> options, boolean inTransaction) {
    QueryExecution execution = ((Dataset<Row>) batch).queryExecution();
    return SQLExecution.withNewExecutionId(
        execution, Option.apply("records"), () -> send(batch, inTransaction, options));
  }

  /**
   * Returns a batch whose records the tasks of another query can make; null if the rows are not the
   * records of a topic.
   */
  public Guest guest(
      org.apache.spark.sql.Dataset<Row> batch, String topic, Map<String, String> options) {
    return positions == null
        ? null
        : new Guest(
            recordsOf(options),
            positions,
            RecordSink.producer(inScala(options)),
            (Dataset<Row>) batch,
            topic,
            rows.sparkSession());
  }

  private Map<String, Row> send(
      org.apache.spark.sql.Dataset<Row> batch, boolean inTransaction, Map<String, String> options) {
    BatchRecords records = recordsOf(options);
    if (inTransaction) {
      TransactionalSink.send(batch, records, inScala(options));
    } else {
      RecordSink.send(batch, records, inScala(options));
    }
    return records.metrics();
  }

  private static scala.collection.immutable.Map<String, String> inScala(
      Map<String, String> options) {
    return Map$.MODULE$.from(CollectionConverters.asScala(options));
  }

  private BatchRecords recordsOf(Map<String, String> options) {
    LinkedHashMap<String, AggregatingAccumulator> counted = new LinkedHashMap<>();
    observed.forEach(
        (name, accumulator) -> {
          AggregatingAccumulator fresh = accumulator.copyAndReset();
          rows.sparkSession().sparkContext().register(fresh, name);
          counted.put(name, fresh);
        });
    return new BatchRecords(Records.of(columns, options), counted, paths);
  }

  /** What the records of a batch are made by. */
  record BatchRecords(
      Records records,
      LinkedHashMap<String, AggregatingAccumulator> observed,
      Broadcast<Paths> paths)
      implements RecordSource {
    @Override
    public void forEach(Iterator<InternalRow> rows, Consumer<ProducerRecord<byte[], byte[]>> send) {
      Making making = begin(send);
      making.path().run(rows);
      making.end();
    }

    /** Begins the rows of a task. */
    Making begin(Consumer<ProducerRecord<byte[], byte[]>> send) {
      List<AggregatingAccumulator> accumulators =
          observed.values().stream().map(AggregatingAccumulator::copyAndReset).toList();
      RowPath path = paths.value().take();
      Consumer<InternalRow> sent = records.sent(send);
      path.begin(TaskContext.getPartitionId(), accumulators, () -> sent.accept(path.row()));
      return new Making(path, accumulators, this);
    }

    /** Returns what was observed of the rows, by name. */
    Map<String, Row> metrics() {
      Map<String, Row> entries = new HashMap<>();
      observed.forEach(
          (name, accumulator) ->
              entries.put(
                  name,
                  (Row)
                      CatalystTypeConverters.createToScalaConverter(accumulator.schema())
                          .apply(accumulator.value())));
      return entries;
    }
  }

  /** The rows of a task, on a path of its own. */
  record Making(RowPath path, List<AggregatingAccumulator> accumulators, BatchRecords batch) {
    /** Ends them; only what a task has done to its end counts. */
    void end() {
      path.end();
      batch.paths.value().giveBack(path);
      int number = 0;
      for (AggregatingAccumulator accumulator : batch.observed.values()) {
        AggregatingAccumulator more = accumulators.get(number++);
        if (accumulator.isZero()) {
          accumulator.setState(more);
        } else {
          accumulator.merge(more);
        }
      }
    }
  }

  /**
   * The paths of a process: each task takes one, and its classes are loaded and its expressions
   * read only once.
   */
  private static final class Paths implements Serializable {
    private final byte[] steps;
    private transient Queue<RowPath> idle = new ConcurrentLinkedQueue<>();

    Paths(byte[] steps) {
      this.steps = steps;
    }

    private Object readResolve() {
      return new Paths(steps);
    }

    RowPath take() {
      RowPath path = idle.poll();
      return path != null
          ? path
          : Utils.<RowSteps>deserialize(steps, Thread.currentThread().getContextClassLoader())
              .path();
    }

    void giveBack(RowPath path) {
      idle.add(path);
    }
  }
}
