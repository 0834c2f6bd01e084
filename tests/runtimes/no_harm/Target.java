// SPDX-License-Identifier: GPL-2.0-or-later
/* A program under load that checks itself; what it reads and writes: see ../no_harm.py. */
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntUnaryOperator;

public class Target {
    static final Map<String, Long> counts = new TreeMap<>(), wrong = new TreeMap<>();
    static final Map<String, Map<Integer, Long>> latencies =
        Map.of("alone", new TreeMap<>(), "looked", new TreeMap<>());
    static final Map<String, int[]> kept = new HashMap<>();
    static final int KEPT = 1000;
    static String phase = "alone";
    static boolean begins = true;

    record Node(int number, Node following) {}

    public static class Made implements IntUnaryOperator {
        public int applyAsInt(int number) { return number * 3 + 1; }
    }

    static class Loader extends ClassLoader {
        Class<?> made(byte[] code) { return defineClass("Target$Made", code, 0, code.length); }
    }

    interface Work { void run() throws Exception; }

    static void add(Map<String, Long> counters, String name) {
        synchronized (counters) { counters.merge(name, 1L, Long::sum); }
    }

    static void expect(String name, boolean right) { if (!right) add(wrong, name); }

    static void start(String name, Work work) {
        Thread thread = new Thread(() -> {
            try {
                while (true) work.run();
            } catch (Throwable error) {
                add(wrong, name + ": " + error);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void checkKept() {
        int right = 0;
        for (int i = 0; i < KEPT; i++) {
            int[] value = kept.get("key " + i);
            if (value != null && value.length == i % 7 + 1 && value[i % 7] == i) right++;
        }
        expect("planted objects", right == KEPT);
        add(counts, "checks");
    }

    /* The same class loaded anew, so that the compiler has work. */
    static void allocate(byte[] code, int round) throws Exception {
        Node head = null;
        long sum = 0;
        for (int i = 0; i < 20000; i++) head = new Node(i, head);
        for (Node node = head; node != null; node = node.following) sum += node.number;
        expect("new objects", sum == 199990000);
        IntUnaryOperator made = (IntUnaryOperator) new Loader().made(code).getDeclaredConstructor().newInstance();
        sum = 0;
        for (int i = 0; i < 20000; i++) sum += made.applyAsInt(i);
        expect("new code", sum == 599990000L);
        add(counts, "rounds");
        if (round % 20 == 19) {
            WeakReference<Node> seen = new WeakReference<>(head);
            head = null;
            System.gc();
            expect("garbage that stays", seen.get() == null);
            long collections = 0;
            for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans())
                collections += bean.getCollectionCount();
            synchronized (counts) { counts.put("collections", collections); }
            checkKept();
        }
        Thread.sleep(2);
    }

    static byte byteAt(long position) { return (byte) (position * 31 + position / 4093); }

    static void exchange() throws Exception {
        ServerSocketChannel server = ServerSocketChannel.open().bind(null);
        SocketChannel writer = SocketChannel.open(server.getLocalAddress()), reader = server.accept();
        Selector selector = Selector.open();
        ByteBuffer out = ByteBuffer.allocateDirect(4096), in = ByteBuffer.allocateDirect(4096);
        long[] written = {0}, got = {0};
        reader.configureBlocking(false);
        reader.register(selector, SelectionKey.OP_READ);
        start("write", () -> {
            out.clear().limit((int) (written[0] % 4000) + 1);
            while (out.hasRemaining()) out.put(byteAt(written[0]++));
            int size = out.flip().remaining();
            expect("short write", writer.write(out) == size);
            if (written[0] % 7 == 0) Thread.sleep(5);
        });
        start("read", () -> {
            expect("select in vain", selector.select(60000) == 1);
            selector.selectedKeys().clear();
            expect("end of the stream", reader.read(in.clear()) > 0);
            boolean right = true;
            for (in.flip(); in.hasRemaining();) right &= in.get() == byteAt(got[0]++);
            expect("received bytes", right);
            add(counts, "received");
        });
    }

    static void hand() {
        ReentrantLock lock = new ReentrantLock();
        Condition filled = lock.newCondition();
        ArrayDeque<Integer> items = new ArrayDeque<>();
        int[] given = {0}, wanted = {0};
        start("give", () -> {
            lock.lock();
            items.add(given[0]++);
            filled.signal();
            lock.unlock();
            Thread.sleep(1);
        });
        start("take", () -> {
            lock.lock();
            while (items.isEmpty()) expect("a condition that is never met", filled.await(60, TimeUnit.SECONDS));
            while (!items.isEmpty()) expect("items in order", items.remove() == wanted[0]++);
            lock.unlock();
            add(counts, "handed");
        });
    }

    static void waits(Selector quiet, SynchronousQueue<Integer> empty) throws Exception {
        long began = System.nanoTime();
        Thread.sleep(7);
        expect("select too early", quiet.select(7) == 0);
        expect("poll too early", empty.poll(7, TimeUnit.MILLISECONDS) == null);
        expect("waited too short", System.nanoTime() - began >= 21000000);
        add(counts, "waits");
    }

    static void beat(Selector quiet, long[] before) throws Exception {
        quiet.select(1);
        long now = System.nanoTime();
        synchronized (counts) {
            if (!begins) latencies.get(phase).merge((int) ((now - before[0]) / 10000), 1L, Long::sum);
            begins = false;
        }
        before[0] = now;
        add(counts, "beats");
    }

    static String json(Map<?, Long> counters) {
        StringBuilder text = new StringBuilder();
        for (var entry : counters.entrySet())
            text.append(text.length() == 0 ? "" : ",").append('"').append(entry.getKey().toString().replace('"', '\''))
                .append("\":").append(entry.getValue());
        return "{" + text + "}";
    }

    static void answer() {
        synchronized (counts) {
            synchronized (wrong) {
                System.out.println("{\"counts\":" + json(counts) + ",\"wrong\":" + json(wrong) + ",\"alone\":"
                    + json(latencies.get("alone")) + ",\"looked\":" + json(latencies.get("looked")) + "}");
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] code;
        int[] round = {0};
        long[] before = {0};
        Selector first = Selector.open(), second = Selector.open();
        for (int i = 0; i < KEPT; i++) {
            int[] value = new int[i % 7 + 1];
            value[i % 7] = i;
            kept.put("key " + i, value);
        }
        try (var file = Target.class.getResourceAsStream("Target$Made.class")) { code = file.readAllBytes(); }
        sun.misc.Signal.handle(new sun.misc.Signal("USR2"), number -> {
            add(counts, "signals");
            System.out.println("s");
        });
        start("allocate", () -> allocate(code, round[0]++));
        exchange();
        hand();
        start("waits", () -> waits(first, new SynchronousQueue<>()));
        start("beat", () -> beat(second, before));
        Executors.newScheduledThreadPool(1, work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        }).scheduleAtFixedRate(() -> add(counts, "ticks"), 5, 5, TimeUnit.MILLISECONDS);
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNextLine();) {
            String line = in.nextLine();
            if (line.equals("truth")) {
                answer();
                continue;
            }
            synchronized (counts) {
                phase = line;
                begins = true;
            }
        }
    }
}
