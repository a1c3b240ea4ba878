import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.DelegatingTable;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.Relation;
import org.apache.spark.sql.connector.catalog.RelationCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.View;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog by the interfaces of Spark 4.2 alone: tables of Spark's own formats, and views.
 *
 * <p>A folder has a folder for each namespace, with a file for each relation and the data of its tables. A file is
 * replaced by one rename, and made by one link, which fails where the file is there. So several processes may share
 * the catalog. The last of two that replace a view wins, as the interface has it.
 *
 * <p>The option "without" names what the catalog leaves out: replaceView, dropView, or the properties of views.
 */
public class FolderCatalog implements RelationCatalog, SupportsNamespaces {
  private String name;
  private Path root;
  private Set<String> without;

  /** What a file says of a relation. A table has no text. */
  private record Entry(
      String schema,
      String text,
      String catalog,
      String[] namespace,
      String mode,
      String[] queryColumns,
      HashMap<String, String> configs,
      String[] partitions,
      HashMap<String, String> properties)
      implements Serializable {

    boolean isView() {
      return text != null;
    }

    Relation relation(Identifier of) {
      var type = (StructType) DataType.fromJson(schema);
      if (!isView()) {
        var columns = Arrays.stream(partitions).map(Expressions::identity).toArray(Transform[]::new);
        var info = new TableInfo.Builder().withSchema(type).withProperties(properties).withPartitions(columns).build();
        return new DelegatingTable(info, of.toString());
      }
      return new View.Builder()
          .withSchema(type)
          .withProperties(properties)
          .withQueryText(text)
          .withCurrentCatalog(catalog)
          .withCurrentNamespace(namespace)
          .withSqlConfigs(configs)
          .withSchemaMode(mode)
          .withQueryColumnNames(queryColumns)
          .build();
    }

    static Entry of(View view) {
      return new Entry(
          view.schema().json(),
          view.queryText(),
          view.currentCatalog(),
          view.currentNamespace(),
          view.schemaMode(),
          view.queryColumnNames(),
          new HashMap<>(view.sqlConfigs()),
          null,
          new HashMap<>(view.properties()));
    }

    static Entry of(TableInfo table, String location) {
      var partitions =
          Arrays.stream(table.partitions()).map(column -> column.references()[0].fieldNames()[0]).toArray(String[]::new);
      var properties = new HashMap<>(table.properties());
      properties.putIfAbsent(TableCatalog.PROP_PROVIDER, "parquet");
      if (properties.putIfAbsent(TableCatalog.PROP_LOCATION, location) == null) {
        properties.put(PROP_IS_MANAGED_LOCATION, "true");
      }
      return new Entry(table.schema().json(), null, null, null, null, null, null, partitions, properties);
    }
  }

  /** The table of a CREATE TABLE AS, into which Spark writes the rows as a data frame. */
  private record Filled(String name, Entry entry) implements SupportsWrite {
    @Override
    public StructType schema() {
      return (StructType) DataType.fromJson(entry.schema());
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      InsertableRelation inserted =
          (rows, overwrite) ->
              rows.write()
                  .mode(SaveMode.Append)
                  .format(entry.properties().get(TableCatalog.PROP_PROVIDER))
                  .partitionBy(entry.partitions())
                  .save(entry.properties().get(TableCatalog.PROP_LOCATION));
      return new Appended(() -> inserted);
    }
  }

  /** A table that was just made is empty. */
  private record Appended(V1Write rows) implements SupportsTruncate {
    @Override
    public WriteBuilder truncate() {
      return this;
    }

    @Override
    public Write build() {
      return rows;
    }
  }

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.root = Path.of(options.get("warehouse"));
    this.without = Set.of(options.getOrDefault("without", "").split(","));
  }

  @Override
  public String name() {
    return name;
  }

  private Path folder(String[] namespace) throws NoSuchNamespaceException {
    if (!namespaceExists(namespace)) {
      throw new NoSuchNamespaceException(namespace);
    }
    return root.resolve(namespace[0]);
  }

  private Path file(Identifier of) throws NoSuchNamespaceException {
    return folder(of.namespace()).resolve(of.name() + ".relation");
  }

  /** null where there is none */
  private Entry read(Identifier of) {
    try (var stream = new ObjectInputStream(Files.newInputStream(file(of)))) {
      return (Entry) stream.readObject();
    } catch (NoSuchNamespaceException | NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A file of its own, which becomes the relation's by one step of the file system. */
  private Path written(Identifier of, Entry entry) throws NoSuchNamespaceException {
    Path file = folder(of.namespace()).resolve("." + UUID.randomUUID());
    try (var stream = new ObjectOutputStream(Files.newOutputStream(file))) {
      stream.writeObject(entry);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return file;
  }

  /** false where the relation is there already */
  private boolean add(Identifier of, Entry entry) throws NoSuchNamespaceException {
    Path file = written(of, entry);
    try {
      Files.createLink(file(of), file);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      file.toFile().delete();
    }
  }

  private void replace(Identifier of, Entry entry) throws NoSuchNamespaceException {
    try {
      Files.move(written(of, entry), file(of), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Identifier[] list(String[] namespace, boolean views) throws NoSuchNamespaceException {
    try (Stream<Path> files = Files.list(folder(namespace))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(file -> file.endsWith(".relation"))
          .map(file -> Identifier.of(namespace, file.substring(0, file.length() - ".relation".length())))
          .filter(
              found -> {
                Entry entry = read(found);
                return entry != null && entry.isView() == views;
              })
          .toArray(Identifier[]::new);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public Relation loadRelation(Identifier of) throws NoSuchTableException {
    Entry entry = read(of);
    if (entry == null) {
      throw new NoSuchTableException(of);
    }
    return entry.relation(of);
  }

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    return list(namespace, false);
  }

  @Override
  public Identifier[] listViews(String[] namespace) throws NoSuchNamespaceException {
    return list(namespace, true);
  }

  @Override
  public Table createTable(Identifier of, TableInfo table) throws TableAlreadyExistsException, NoSuchNamespaceException {
    String data = folder(of.namespace()).resolve(of.name() + "-" + UUID.randomUUID()).toUri().toString();
    Entry entry = Entry.of(table, data);
    if (!add(of, entry)) {
      throw new TableAlreadyExistsException(of);
    }
    return new Filled(of.toString(), entry);
  }

  @Override
  public Table alterTable(Identifier of, TableChange... changes) {
    throw new UnsupportedOperationException("ALTER TABLE");
  }

  @Override
  public boolean dropTable(Identifier of) {
    Entry entry = read(of);
    if (entry == null || entry.isView()) {
      return false;
    }
    drop(of);
    if (entry.properties().containsKey(PROP_IS_MANAGED_LOCATION)) {
      delete(Path.of(java.net.URI.create(entry.properties().get(TableCatalog.PROP_LOCATION))));
    }
    return true;
  }

  private void drop(Identifier of) {
    try {
      Files.deleteIfExists(file(of));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (NoSuchNamespaceException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void delete(Path folder) {
    if (!Files.exists(folder)) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void renameTable(Identifier from, Identifier to) throws NoSuchTableException, TableAlreadyExistsException {
    Entry entry = read(from);
    if (entry == null) {
      throw new NoSuchTableException(from);
    }
    try {
      if (!add(to, entry)) {
        throw new TableAlreadyExistsException(to);
      }
    } catch (NoSuchNamespaceException e) {
      throw new NoSuchTableException(to);
    }
    drop(from);
  }

  /** What catalogs that are published leave out. */
  private void refuse(String method) {
    if (without.contains(method)) {
      throw new UnsupportedOperationException(method + " is not implemented");
    }
  }

  /** A view as the catalog keeps it. */
  private Entry kept(View view) {
    Entry all = Entry.of(view);
    if (!without.contains("properties")) {
      return all;
    }
    return new Entry(
        all.schema(),
        all.text(),
        all.catalog(),
        all.namespace(),
        all.mode(),
        all.queryColumns(),
        all.configs(),
        all.partitions(),
        new HashMap<>());
  }

  @Override
  public View createView(Identifier of, View view) throws ViewAlreadyExistsException, NoSuchNamespaceException {
    if (!add(of, kept(view))) {
      throw new ViewAlreadyExistsException(of);
    }
    return view;
  }

  @Override
  public View replaceView(Identifier of, View view) throws NoSuchViewException {
    refuse("replaceView");
    Entry entry = read(of);
    if (entry == null || !entry.isView()) {
      throw new NoSuchViewException(of);
    }
    try {
      replace(of, kept(view));
    } catch (NoSuchNamespaceException e) {
      throw new NoSuchViewException(of);
    }
    return view;
  }

  @Override
  public boolean dropView(Identifier of) {
    refuse("dropView");
    Entry entry = read(of);
    if (entry == null || !entry.isView()) {
      return false;
    }
    drop(of);
    return true;
  }

  @Override
  public void renameView(Identifier from, Identifier to) throws NoSuchViewException, ViewAlreadyExistsException {
    Entry entry = read(from);
    if (entry == null || !entry.isView()) {
      throw new NoSuchViewException(from);
    }
    try {
      if (!add(to, entry)) {
        throw new ViewAlreadyExistsException(to);
      }
    } catch (NoSuchNamespaceException e) {
      throw new NoSuchViewException(to);
    }
    drop(from);
  }

  @Override
  public String[][] listNamespaces() {
    try (Stream<Path> folders = Files.list(root)) {
      return folders.filter(Files::isDirectory).map(f -> new String[] {f.getFileName().toString()}).toArray(String[][]::new);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listNamespaces();
    }
    folder(namespace);
    return new String[0][];
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    return namespace.length == 1 && Files.isDirectory(root.resolve(namespace[0]));
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    folder(namespace);
    return new HashMap<>();
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    root.resolve(namespace[0]).toFile().mkdirs();
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw new UnsupportedOperationException("ALTER NAMESPACE");
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) throws NoSuchNamespaceException {
    delete(folder(namespace));
    return true;
  }
}
