package millstream.spark;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.deploy.SparkHadoopUtil;

/** The settings of file systems that Spark has, also in its tasks. */
public final class HadoopSettings {
  private HadoopSettings() {}

  public static Configuration settings() {
    return SparkHadoopUtil.get().conf();
  }
}
