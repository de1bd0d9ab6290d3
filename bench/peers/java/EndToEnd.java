import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** The Java client, end to end: EndToEnd send|push|through name=value..., one line of JSON. */
public final class EndToEnd {
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final Map<String, String> SETTINGS = new HashMap<>();
    private static final AtomicLong ERRORS = new AtomicLong();
    private static final String TAGS = "TagA";
    /** Java sends synchronously from this many threads and less, as its users do. */
    private static final int MOST_THREADS = 64;
    private static final long ASSIGNED_AFTER_MS = 5000;

    public static void main(String[] args) throws Exception {
        for (int i = 1; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            SETTINGS.put(args[i].substring(0, equals), args[i].substring(equals + 1));
        }
        switch (args[0]) {
            case "send":
                if (number("window") <= MOST_THREADS) sendFromThreads();
                else sendWithCallbacks();
                break;
            case "push":
                push();
                break;
            case "through":
                through();
                break;
            default:
                throw new IllegalArgumentException("There is no case \"" + args[0] + "\"");
        }
        System.exit(0);
    }

    // ---- sending

    private static void sendWithCallbacks() throws Exception {
        DefaultMQProducer producer = newProducer();
        int messages = number("messages"), warmUp = number("warmUp"), window = number("window");
        byte[] body = body(number("bodyBytes")), warmUpBody = body(number("warmUpBytes"));
        String topic = text("topic");
        Semaphore free = new Semaphore(window);
        Latencies latencies = new Latencies(messages);
        Mark from = null;
        for (int i = 0; i < warmUp + messages; i++) {
            if (i == warmUp) {
                free.acquire(window);
                free.release(window);
                from = new Mark();
            }
            free.acquire();
            boolean isMeasured = i >= warmUp;
            long started = System.nanoTime();
            producer.send(new Message(topic, TAGS, isMeasured ? body : warmUpBody), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    if (isMeasured) latencies.add(System.nanoTime() - started);
                    free.release();
                }

                @Override
                public void onException(Throwable error) {
                    failed(error);
                    free.release();
                }
            });
        }
        free.acquire(window);
        print(messages, from, new Mark(), latencies);
        producer.shutdown();
    }

    private static void sendFromThreads() throws Exception {
        DefaultMQProducer producer = newProducer();
        int threads = number("window"), messages = number("messages") / threads * threads;
        byte[] body = body(number("bodyBytes")), warmUpBody = body(number("warmUpBytes"));
        Latencies latencies = new Latencies(messages);
        sendFromThreads(producer, threads, number("warmUp") / threads, warmUpBody, new Latencies(number("warmUp")));
        Mark from = new Mark();
        sendFromThreads(producer, threads, messages / threads, body, latencies);
        print(messages, from, new Mark(), latencies);
        producer.shutdown();
    }

    private static void sendFromThreads(DefaultMQProducer producer, int threads, int each, byte[] body, Latencies latencies)
        throws InterruptedException {
        String topic = text("topic");
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            all[i] = new Thread(() -> {
                for (int k = 0; k < each; k++) {
                    long started = System.nanoTime();
                    try {
                        producer.send(new Message(topic, TAGS, body));
                        latencies.add(System.nanoTime() - started);
                    } catch (Exception error) {
                        failed(error);
                    }
                }
            });
            all[i].start();
        }
        for (Thread thread : all) thread.join();
    }

    private static DefaultMQProducer newProducer() throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("bench_p");
        producer.setNamesrvAddr(text("nameServer"));
        producer.setSendMsgTimeout(20_000);
        producer.setRetryTimesWhenSendAsyncFailed(0);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.start();
        return producer;
    }

    // ---- consuming

    private static void push() throws Exception {
        long warmUp = number("warmUp"), all = warmUp + number("messages");
        AtomicLong count = new AtomicLong();
        AtomicBoolean hasBegun = new AtomicBoolean(), hasEnded = new AtomicBoolean();
        CountDownLatch done = new CountDownLatch(1);
        long[] counts = new long[2];
        Mark[] marks = new Mark[2];
        DefaultMQPushConsumer consumer = newConsumer(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = count.addAndGet(messages.size());
            if (now >= warmUp && !hasBegun.get() && hasBegun.compareAndSet(false, true)) {
                counts[0] = now;
                marks[0] = new Mark();
            }
            if (now >= all && hasEnded.compareAndSet(false, true)) {
                counts[1] = now;
                marks[1] = new Mark();
                done.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        if (!done.await(number("timeout"), TimeUnit.SECONDS)) {
            throw new IllegalStateException("Only " + count.get() + " messages came in time");
        }
        print(counts[1] - counts[0], marks[0], marks[1], new Latencies(0));
        consumer.shutdown();
    }

    /** Messages of one thread at a steady rate, consumed in the same process; latency is from the call to the listener. */
    private static void through() throws Exception {
        int bodyBytes = number("bodyBytes"), messages = number("messages"), warmUp = number("warmUp");
        int run = 1 + (int) (System.currentTimeMillis() & 0x3fffffff);
        String topic = text("topic");
        Latencies latencies = new Latencies(messages);
        DefaultMQPushConsumer consumer = newConsumer(ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
        consumer.registerMessageListener((MessageListenerConcurrently) (arrived, context) -> {
            long now = System.nanoTime();
            for (MessageExt message : arrived) {
                ByteBuffer body = ByteBuffer.wrap(message.getBody());
                long sentAt = body.getLong();
                if (body.getInt() == run) latencies.add(now - sentAt);
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Thread.sleep(ASSIGNED_AFTER_MS);
        DefaultMQProducer producer = newProducer();
        long nanosEach = 1_000_000_000L / number("rate"), start = System.nanoTime();
        Mark from = null;
        for (int i = 0; i < warmUp + messages; i++) {
            if (i == warmUp) from = new Mark();
            long due = start + i * nanosEach;
            for (long now; (now = System.nanoTime()) < due;) LockSupport.parkNanos(due - now);
            byte[] body = new byte[bodyBytes];
            ByteBuffer.wrap(body).putLong(System.nanoTime()).putInt(i >= warmUp ? run : 0);
            producer.send(new Message(topic, TAGS, body), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                }

                @Override
                public void onException(Throwable error) {
                    failed(error);
                }
            });
        }
        if (!latencies.full.await(number("timeout"), TimeUnit.SECONDS)) {
            throw new IllegalStateException("Not all messages came in time");
        }
        print(messages, from, new Mark(), latencies);
        producer.shutdown();
        consumer.shutdown();
    }

    private static DefaultMQPushConsumer newConsumer(ConsumeFromWhere where) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(text("group"));
        consumer.setNamesrvAddr(text("nameServer"));
        consumer.setConsumeFromWhere(where);
        consumer.setPullBatchSize(32);
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.subscribe(text("topic"), "*");
        return consumer;
    }

    // ---- the meter

    private static final class Mark {
        final long nanos = System.nanoTime();
        final long cpu = SYSTEM.getProcessCpuTime();
    }

    private static final class Latencies {
        final CountDownLatch full;
        private final long[] nanos;
        private final AtomicInteger count = new AtomicInteger();

        Latencies(int most) {
            nanos = new long[most];
            full = new CountDownLatch(most);
        }

        void add(long nanosOfOne) {
            int at = count.getAndIncrement();
            if (at >= nanos.length) return;
            nanos[at] = nanosOfOne;
            full.countDown();
        }

        String ms(double share) {
            int length = Math.min(count.get(), nanos.length);
            if (length == 0) return "null";
            long[] sorted = Arrays.copyOf(nanos, length);
            Arrays.sort(sorted);
            return rounded(sorted[(int) ((length - 1) * share)] / 1e6);
        }
    }

    private static void print(long messages, Mark from, Mark to, Latencies latencies) throws Exception {
        double seconds = (to.nanos - from.nanos) / 1e9, cpu = (to.cpu - from.cpu) / 1e9;
        System.out.println("{\"client\":\"Java\",\"messages\":" + messages + ",\"seconds\":" + rounded(seconds)
            + ",\"msgsPerSec\":" + Math.round(messages / seconds) + ",\"cpuSeconds\":" + rounded(cpu)
            + ",\"cpuPerMillion\":" + rounded(cpu / messages * 1e6) + ",\"p50Ms\":" + latencies.ms(0.5)
            + ",\"p99Ms\":" + latencies.ms(0.99) + ",\"rssMiB\":" + rounded(peakMiB()) + ",\"errors\":" + ERRORS.get() + "}");
        System.out.flush();
    }

    private static double peakMiB() throws Exception {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"), StandardCharsets.ISO_8859_1)) {
            if (line.startsWith("VmHWM:")) return Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024.0;
        }
        throw new IllegalStateException("/proc/self/status has no VmHWM");
    }

    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    private static void failed(Throwable error) {
        if (ERRORS.incrementAndGet() < 4) System.err.println(error);
    }

    // ---- settings

    private static String text(String name) {
        String value = SETTINGS.get(name);
        if (value == null) throw new IllegalArgumentException("The setting \"" + name + "\" is missing");
        return value;
    }

    private static int number(String name) {
        return Integer.parseInt(text(name));
    }

    private static byte[] body(int length) {
        byte[] bytes = new byte[length];
        new Random(7).nextBytes(bytes);
        return bytes;
    }
}
