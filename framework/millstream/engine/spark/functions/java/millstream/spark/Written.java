package millstream.spark;

import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructType;

/** What Spark wants to know of what a sink has written: nothing can be read from it. */
final class Written extends BaseRelation {
  private final SQLContext context;

  Written(SQLContext context) {
    this.context = context;
  }

  @Override
  public SQLContext sqlContext() {
    return context;
  }

  @Override
  public StructType schema() {
    return new StructType();
  }
}
