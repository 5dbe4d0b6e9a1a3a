import java.io.*;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.requests.*;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.storage.internals.log.*;

/** Runs lines of operations against Kafka's own record classes and prints what each said. */
public class RecordsOracle {
    static long wallMs;

    @SuppressWarnings("unchecked")
    static <T> T fake(Class<T> type, Object said) {
        return (T) Proxy.newProxyInstance(RecordsOracle.class.getClassLoader(), new Class<?>[]{type},
            (proxy, method, arguments) -> method.getName().equals("milliseconds") ? (Object) wallMs : said);
    }

    static String hex(ByteBuffer bytes) {
        if (bytes == null) return "null";
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return copy.length == 0 ? "empty" : HexFormat.of().formatHex(copy);
    }

    static byte[] bytes(String word) {
        if (word.equals("null")) return null;
        return word.equals("empty") ? new byte[0] : HexFormat.of().parseHex(word);
    }

    static Compression codec(int number) { return Compression.of(CompressionType.forId(number)).build(); }

    /** What happens to a batch between a produce request and the log, in that order. */
    static String validate(String[] w) throws Exception {
        short version = Short.parseShort(w[1]);
        boolean compacted = w[2].equals("1"), appendTime = w[3].equals("1");
        long before = Long.parseLong(w[4]), after = Long.parseLong(w[5]);
        wallMs = Long.parseLong(w[6]);
        int target = Integer.parseInt(w[7]), most = Integer.parseInt(w[8]);
        byte[] data = bytes(w[9]);
        try {
            MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(data));
            ProduceRequest.validateRecords(version, records);
            CompressionType source = CompressionType.NONE;
            int valid = 0;
            for (MutableRecordBatch batch : records.batches()) {
                if (batch.baseOffset() != 0) throw new InvalidRecordException("base offset");
                batch.lastOffset();
                if (batch.sizeInBytes() > most) throw new RecordTooLargeException("size");
                if (!batch.isValid()) throw new CorruptRecordException("crc");
                valid += batch.sizeInBytes();
                source = batch.compressionType();
            }
            records = MemoryRecords.readableRecords(ByteBuffer.wrap(Arrays.copyOf(data, valid)));
            LogValidator validator = new LogValidator(records, new TopicPartition("t", 0),
                fake(Time.class, 0L), source, target < 0 ? codec(source.id) : codec(target), compacted,
                (byte) 2, appendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
                before, after, 7, AppendOrigin.CLIENT);
            LogValidator.ValidationResult result = validator.validateMessagesAndAssignOffsets(
                PrimitiveRef.ofLong(1000), fake(LogValidator.MetricsRecorder.class, null), BufferSupplier.NO_CACHING);
            if (result.messageSizeMaybeChanged() && result.validatedRecords().sizeInBytes() > most)
                throw new RecordTooLargeException("size");
            return "0 " + result.maxTimestampMs() + " " + hex(result.validatedRecords().buffer());
        } catch (RecordValidationException e) {
            return Errors.forException(e.invalidException()).code() + " " + e.recordErrors().stream()
                .map(error -> "" + error.batchIndex).collect(Collectors.joining(","));
        } catch (Throwable e) {
            return "" + Errors.forException(e).code();
        }
    }

    /** build codec baseOffset leaderEpoch producerId producerEpoch sequence transactional, then records. */
    static String build(String[] w) {
        SimpleRecord[] records = Arrays.stream(w).skip(8).map(word -> {
            String[] p = word.split(":");
            Header[] headers = new Header[(p.length - 3) / 2];
            for (int i = 0; i < headers.length; i++)
                headers[i] = new RecordHeader(new String(bytes(p[3 + 2 * i]), StandardCharsets.UTF_8), bytes(p[4 + 2 * i]));
            return new SimpleRecord(Long.parseLong(p[0]), bytes(p[1]), bytes(p[2]), headers);
        }).toArray(SimpleRecord[]::new);
        return hex(MemoryRecords.withRecords((byte) 2, Long.parseLong(w[2]), codec(Integer.parseInt(w[1])),
            TimestampType.CREATE_TIME, Long.parseLong(w[4]), Short.parseShort(w[5]), Integer.parseInt(w[6]),
            Integer.parseInt(w[3]), w[7].equals("1"), records).buffer());
    }

    static String read(String[] w) {
        StringBuilder said = new StringBuilder();
        for (Record record : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(w[1]))).records()) {
            said.append(record.offset()).append(":").append(record.timestamp()).append(":")
                .append(hex(record.key())).append(":").append(hex(record.value()));
            for (Header header : record.headers())
                said.append(":").append(hex(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8)))).append(":")
                    .append(hex(header.value() == null ? null : ByteBuffer.wrap(header.value())));
            said.append(" ");
        }
        return said.toString().trim();
    }

    static String control(String[] w) {
        switch (w[1]) {
            case "key":
                return hex(ControlRecordType.fromTypeId(Short.parseShort(w[2])).recordKey());
            case "marker":
                EndTransactionMarker marker = new EndTransactionMarker(
                    w[2].equals("commit") ? ControlRecordType.COMMIT : ControlRecordType.ABORT, 41);
                return hex(MemoryRecords.withEndTransactionMarker(1000, 1700000000000L, 7, 5, (short) 3, marker).buffer());
            default:
                return hex(MemoryRecords.withLeaderChangeMessage(1000, 1700000000000L, 7, ByteBuffer.allocate(512),
                    new LeaderChangeMessage().setLeaderId(1)).buffer());
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] w = line.split(" ");
            String said;
            switch (w[0]) {
                case "validate": said = validate(w); break;
                case "build": said = build(w); break;
                case "read": said = read(w); break;
                default: said = control(w);
            }
            System.out.println(line + " -> " + said);
        }
    }
}
