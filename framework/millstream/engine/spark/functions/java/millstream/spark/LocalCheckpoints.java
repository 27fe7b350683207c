package millstream.spark;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;

/**
 * Local files as Spark's checkpoints use them: without checksum files, since Spark's files have
 * their own.
 */
public final class LocalCheckpoints extends DelegateToFileSystem {
  /** Hadoop creates it by reflection. */
  LocalCheckpoints(URI uri, Configuration configuration) throws IOException, URISyntaxException {
    super(
        uri,
        new LocalFiles.WithoutChecksums(),
        configuration,
        FsConstants.LOCAL_FS_URI.getScheme(),
        false);
  }

  @Override
  public int getUriDefaultPort() {
    return -1;
  }

  @Override
  public boolean isValidName(String path) {
    return true; // as in Hadoop's own: whether a name is valid depends on the disk's file system
  }
}
