import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Contender: Kafka Streams, at-least-once, state in RocksDB with its changelog. The work is that of benchmarks/pipeline/workload.py.
 *
 * <p>Arguments: servers, source, target, count, folder of the state (each process has one of its own in it).
 */
public final class Windows {
    private static final int SIZE = 10;
    private static final int OVERLAP = 3;
    private static final String STORE = "states";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The fields of a chat message that the windows need. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Message(String message_id, String conversation_id, String content) {}

    /** A window of whole messages; its fields have the order that msgspec gives them. */
    @JsonPropertyOrder({"window_id", "conversation_id", "message_ids", "contents"})
    record Window(String window_id, String conversation_id, List<String> message_ids, List<String> contents) {}

    /** Of a conversation: messages so far, and the open window. */
    record State(long count, ArrayList<String> ids, ArrayList<String> contents) {}

    /** One step: decode, read the state, fold, write the state, forward the window that is complete. */
    static final class Fold implements Processor<byte[], byte[], byte[], byte[]> {
        private final Stopwatch watch;
        private ProcessorContext<byte[], byte[]> context;
        private KeyValueStore<byte[], byte[]> states;

        Fold(Stopwatch watch) {
            this.watch = watch;
        }

        @Override
        public void init(ProcessorContext<byte[], byte[]> context) {
            this.context = context;
            this.states = context.getStateStore(STORE);
        }

        @Override
        public void process(Record<byte[], byte[]> record) {
            try {
                Message message = JSON.readValue(record.value(), Message.class);
                byte[] stored = states.get(record.key());
                State before = stored == null
                        ? new State(0, new ArrayList<>(), new ArrayList<>())
                        : JSON.readValue(stored, State.class);
                before.ids().add(message.message_id());
                before.contents().add(message.content());
                State after = new State(before.count() + 1, before.ids(), before.contents());
                if (after.ids().size() == SIZE) {
                    String name = message.conversation_id() + "/" + after.count();
                    context.forward(record.withValue(JSON.writeValueAsBytes(
                            new Window(uuid5(name), message.conversation_id(), after.ids(), after.contents()))));
                    after = new State(after.count(), last(after.ids()), last(after.contents()));
                }
                states.put(record.key(), JSON.writeValueAsBytes(after));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            if (watch.add()) {
                watch.finish(commits(context.metrics().metrics()));
                context.commit();
            }
        }

        private static ArrayList<String> last(List<String> all) {
            return new ArrayList<>(all.subList(SIZE - OVERLAP, SIZE));
        }
    }

    /** Counts records as benchmarks/pipeline/report.py does: the clock runs over the last three quarters. */
    static final class Stopwatch {
        private final long wanted;
        private final ByteBuffer progress;
        private long records;
        private long skipped;
        private long began;
        private long cpuBegan;
        private double commitsBefore;
        private volatile boolean done;

        Stopwatch(long wanted) throws IOException {
            this.wanted = wanted;
            String file = System.getenv("BENCHMARK_PROGRESS");
            if (file == null) {
                progress = null;
                return;
            }
            try (FileChannel channel = FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                progress = channel.map(FileChannel.MapMode.READ_WRITE, 0, Double.BYTES).order(ByteOrder.nativeOrder());
            }
        }

        boolean add() {
            records++;
            if (progress != null && records % 100 == 0) {
                progress.putDouble(0, records);
            }
            if (skipped == 0 && records >= wanted / 4) {
                began = System.nanoTime();
                skipped = records;
                cpuBegan = cpu();
            }
            return records == wanted;
        }

        void finish(double commits) {
            commitsBefore = commits;
            done = true;
        }

        void report() {
            double seconds = (System.nanoTime() - began) / 1e9;
            long measured = records - skipped;
            System.out.printf(
                    Locale.ROOT,
                    "{\"records\": %d, \"seconds\": %f, \"rate\": %f, \"cpu_microseconds\": %f}%n",
                    measured, seconds, measured / seconds, (cpu() - cpuBegan) / 1e3 / measured);
        }

        private static long cpu() {
            return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
        }
    }

    private static final ByteBuffer NAMESPACE =
            ByteBuffer.allocate(16).putLong(0x6ba7b8119dad11d1L).putLong(0x80b400c04fd430c8L).flip();

    private static String uuid5(String name) {
        try {
            MessageDigest sha1 = MessageDigest.getInstance("SHA-1");
            sha1.update(NAMESPACE.duplicate());
            ByteBuffer hash = ByteBuffer.wrap(sha1.digest(name.getBytes(StandardCharsets.UTF_8)));
            long high = hash.getLong() & 0xffffffffffff0fffL | 0x5000;
            long low = hash.getLong() & 0x3fffffffffffffffL | 0x8000000000000000L;
            return new UUID(high, low).toString();
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String stateFolder(String parent) throws IOException {
        Files.createDirectories(Path.of(parent));
        return Files.createTempDirectory(Path.of(parent), "process").toString();
    }

    private static Properties properties(String servers, String target, String folder) {
        Properties properties = new Properties();
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, target + "-streams");
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, folder);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE);
        properties.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
        // What the other contenders have as well: large batches both ways, and patience while they are frozen.
        properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 8000);
        properties.put(StreamsConfig.consumerPrefix(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG), 60_000);
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 1_000_000);
        properties.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 20);
        return properties;
    }

    /** Commits of the one thread so far: each flushes outputs and changelog before it stores the offsets. */
    private static double commits(Map<MetricName, ? extends Metric> metrics) {
        return metrics.entrySet().stream()
                .filter(each -> each.getKey().name().equals("commit-total") && each.getKey().group().equals("stream-thread-metrics"))
                .mapToDouble(each -> (Double) each.getValue().metricValue())
                .sum();
    }

    public static void main(String[] arguments) throws Exception {
        String source = arguments[1];
        String target = arguments[2];
        Stopwatch watch = new Stopwatch(Long.parseLong(arguments[3]));
        Topology topology = new Topology()
                .addSource("messages", source)
                .addProcessor("fold", () -> new Fold(watch), "messages")
                .addStateStore(
                        Stores.keyValueStoreBuilder(
                                        Stores.persistentKeyValueStore(STORE), Serdes.ByteArray(), Serdes.ByteArray())
                                .withCachingEnabled(),
                        "fold")
                .addSink("windows", target, "fold");
        KafkaStreams streams = new KafkaStreams(topology, properties(arguments[0], target, stateFolder(arguments[4])));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return null;
        });
        streams.start();
        while (!watch.done || commits(streams.metrics()) == watch.commitsBefore) {
            Thread.sleep(5);
        }
        watch.report();
        streams.close(Duration.ofSeconds(60));
    }
}
