// SPDX-License-Identifier: GPL-2.0-or-later
// Objects of a JVM. `listeners`: a bus that sessions register with, and never leave. `threadlocal`: a ThreadLocal of
// a thread that stays. `map`: a static map by request. `soft`: bounded (LinkedHashMap). `churn`: garbage alone, a
// sawtooth. `queue`: a queue of at most 1,000 tasks.
//
// kind: Java objects
// flags: -Xmx512m
// leak java-listeners: listeners
//   part: managed-objects
//   code: JavaHeap.Session
//   holder: listeners|bus
// leak java-threadlocal: threadlocal
//   part: managed-objects
//   code: JavaHeap.Session
//   holder: ThreadLocal
// leak java-static-map: map
//   part: managed-objects
//   code: JavaHeap.Session
//   holder: requests
// healthy java-lru: lru
//   warm: 20
// healthy java-churn: churn
// healthy java-queue: queue
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;

public class JavaHeap {
    static class Session {
        final byte[] body = new byte[1000];
        final String user;

        Session(int n) { user = "user " + n; }
    }

    static class Bus {
        final List<Runnable> listeners = new ArrayList<>();
    }

    static final Bus bus = new Bus();
    static final ThreadLocal<List<Session>> own = ThreadLocal.withInitial(ArrayList::new);
    static final Map<Integer, Session> requests = new HashMap<>();
    static final ArrayBlockingQueue<Session> tasks = new ArrayBlockingQueue<>(1000);
    static final Map<Integer, Session> recent = new LinkedHashMap<>() {
        protected boolean removeEldestEntry(Map.Entry<Integer, Session> eldest) { return size() > 2000; }
    };

    static void handle(String mode, int n) throws InterruptedException {
        Session session = new Session(n);
        switch (mode) {
        case "listeners": bus.listeners.add(() -> session.user.length()); break;
        case "threadlocal": own.get().add(session); break;
        case "map": requests.put(n, session); break;
        case "lru": recent.put(n, session); break;
        case "queue":
            if (!tasks.offer(session)) tasks.poll();
            break;
        default: break;
        }
    }

    public static void main(String[] a) throws Exception {
        for (int n = 0;; n++) {
            handle(a.length > 0 ? a[0] : "churn", n);
            if (n % 10 == 0) Thread.sleep(20);
        }
    }
}
