package org.apache.kafka.storage.internals.log;

import java.io.*;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;

/** Runs lines of operations against the classes of Kafka's own storage and prints what each said. */
public class StorageOracle {
    static final File DIR = new File(System.getProperty("java.io.tmpdir"), "oracle-" + ProcessHandle.current().pid());
    static final int PRODUCER_EPOCH_AT = 51;
    static int made = 0;

    static File fresh() { File f = new File(DIR, "log-" + made++); f.mkdirs(); return f; }
    static String hex(byte[] b) { return HexFormat.of().formatHex(b); }

    static TopicPartition tp = new TopicPartition("t", 0);
    static File logDir;
    static ProducerStateManager producers;
    static long end;
    static LeaderEpochFileCache epochs;
    static File epochFile;
    static OffsetIndex offsetIndex;
    static TimeIndex timeIndex;

    static Scheduler scheduler = (Scheduler) Proxy.newProxyInstance(StorageOracle.class.getClassLoader(),
        new Class<?>[]{Scheduler.class}, (p, m, a) -> {
            if (m.getName().startsWith("schedule")) ((Runnable) a[1]).run();
            return null;
        });

    static String append(String[] a) {
        long pid = Long.parseLong(a[1]); short epoch = Short.parseShort(a[2]);
        int seq = Integer.parseInt(a[3]); int count = Integer.parseInt(a[4]); long ts = Long.parseLong(a[5]);
        SimpleRecord[] rs = new SimpleRecord[count];
        for (int i = 0; i < count; i++) rs[i] = new SimpleRecord(ts, new byte[0]);
        MemoryRecords mr = MemoryRecords.withIdempotentRecords(end, Compression.NONE, pid, (short) Math.max(0, epoch), seq, 0, rs);
        // A client of another make may send an epoch that Kafka's own would not write.
        mr.buffer().putShort(PRODUCER_EPOCH_AT, epoch);
        RecordBatch batch = mr.batches().iterator().next();
        Optional<BatchMetadata> dup = producers.lastEntry(pid).flatMap(e -> e.findDuplicateBatch(batch));
        if (dup.isPresent())
            return "duplicate " + dup.get().firstOffset() + " " + dup.get().lastOffset() + " " + dup.get().timestamp();
        ProducerAppendInfo info = producers.prepareUpdate(pid, AppendOrigin.CLIENT);
        info.append(batch, Optional.empty());
        producers.update(info);
        end = batch.nextOffset();
        producers.updateMapEndOffset(end);
        return "appended " + batch.baseOffset() + " " + batch.lastOffset() + " " + batch.lastSequence();
    }

    static String epochLines() throws IOException {
        return String.join(",", Files.readAllLines(epochFile.toPath()));
    }

    static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "producers":
                logDir = fresh(); end = 0;
                producers = new ProducerStateManager(tp, logDir, 900000, new ProducerStateManagerConfig(86400000, true), Time.SYSTEM);
                return "new";
            case "append": return append(a);
            case "expire": producers.removeExpiredProducers(Long.parseLong(a[1])); return "left " + producers.activeProducers().size();
            case "snapshot": {
                Optional<File> f = producers.takeSnapshot(false);
                return f.isPresent() ? "file " + hex(Files.readAllBytes(f.get().toPath())) : "none";
            }
            case "reload": // what a restart at the end of the log does
                producers.takeSnapshot(false);
                producers = new ProducerStateManager(tp, logDir, 900000, new ProducerStateManagerConfig(86400000, true), Time.SYSTEM);
                producers.truncateAndReload(0, end, Long.parseLong(a[1]));
                return "left " + producers.activeProducers().size();
            case "epochs":
                File d = fresh(); epochFile = LeaderEpochCheckpointFile.newFile(d);
                epochs = new LeaderEpochFileCache(tp, new LeaderEpochCheckpointFile(epochFile, new LogDirFailureChannel(1)), scheduler);
                return "new";
            case "assign": epochs.assign(Integer.parseInt(a[1]), Long.parseLong(a[2])); return epochLines();
            case "end": epochs.truncateFromEndAsyncFlush(Long.parseLong(a[1])); return epochLines();
            case "start": epochs.truncateFromStartAsyncFlush(Long.parseLong(a[1])); return epochLines();
            case "endOffsetFor": { var e = epochs.endOffsetFor(Integer.parseInt(a[1]), Long.parseLong(a[2])); return e.getKey() + " " + e.getValue(); }
            case "epochFor": return "" + epochs.epochForOffset(Long.parseLong(a[1])).orElse(-1);
            case "previous": return epochs.latestEpoch().orElse(-1) + " " + epochs.previousEpoch().orElse(-1);
            case "startOf": return "" + epochs.epochEntry(Integer.parseInt(a[1])).map(EpochEntry::startOffset).orElse(-1L);
            case "indexes": {
                File i = fresh(); long base = Long.parseLong(a[1]); int bytes = Integer.parseInt(a[2]);
                offsetIndex = new OffsetIndex(new File(i, "o.index"), base, bytes);
                timeIndex = new TimeIndex(new File(i, "t.timeindex"), base, bytes);
                return "new";
            }
            case "position": offsetIndex.append(Long.parseLong(a[1]), Integer.parseInt(a[2])); return offsetIndex.entries() + " " + offsetIndex.isFull();
            case "time": timeIndex.maybeAppend(Long.parseLong(a[1]), Long.parseLong(a[2]), true); return timeIndex.entries() + " " + timeIndex.isFull();
            case "lookupOffset": { var r = offsetIndex.lookup(Long.parseLong(a[1])); return r.offset() + " " + r.position(); }
            case "lookupTime": { var r = timeIndex.lookup(Long.parseLong(a[1])); return r.timestamp() + " " + r.offset(); }
            case "truncate":
                offsetIndex.truncateTo(Long.parseLong(a[1])); timeIndex.truncateTo(Long.parseLong(a[1]));
                return offsetIndex.lastOffset() + " " + timeIndex.lastEntry().timestamp() + " " + timeIndex.lastEntry().offset();
            case "bytes": {
                offsetIndex.trimToValidSize(); timeIndex.trimToValidSize();
                return hex(Files.readAllBytes(offsetIndex.file().toPath())) + " " + hex(Files.readAllBytes(timeIndex.file().toPath()));
            }
            case "dir": {
                String name = new String(HexFormat.of().parseHex(a[1]), StandardCharsets.UTF_8);
                TopicPartition t = LocalLog.parseTopicPartitionName(new File(DIR, name));
                return t.partition() + " " + hex(t.topic().getBytes(StandardCharsets.UTF_8));
            }
            case "deletion": {
                String topic = new String(HexFormat.of().parseHex(a[1]), StandardCharsets.UTF_8);
                return LocalLog.logDeleteDirName(new TopicPartition(topic, Integer.parseInt(a[2])));
            }
            case "load": {
                Properties p = new Properties();
                p.load(new ByteArrayInputStream(HexFormat.of().parseHex(a.length > 1 ? a[1] : "")));
                StringBuilder b = new StringBuilder("properties");
                for (String k : new TreeSet<>(p.stringPropertyNames()))
                    b.append(" ").append(hex(k.getBytes(StandardCharsets.UTF_16BE))).append("=").append(hex(p.getProperty(k).getBytes(StandardCharsets.UTF_16BE)));
                return b.toString();
            }
            default: throw new IllegalArgumentException(a[0]);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String said;
            try { said = run(line.split(" ")); }
            catch (Exception e) {
                Errors code = Errors.forException(e);
                said = code == Errors.UNKNOWN_SERVER_ERROR ? "raised " + e.getClass().getSimpleName() : "error " + code.code();
            }
            System.out.println(line + " -> " + said);
        }
    }
}
