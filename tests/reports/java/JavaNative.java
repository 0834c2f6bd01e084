// SPDX-License-Identifier: GPL-2.0-or-later
// Memory of a JVM outside its heap. `direct`: direct buffers in a static list. `classes`: a class loader for each
// plug-in, kept: metaspace. `threads`: an executor for each request, never shut down. `shutdown`: they are shut down.
// `garbage`: direct buffers that wait for a collection, which a heap with room does not run. `collected`: it runs.
//
// kind: off-heap memory of managed objects
// flags: -Xmx256m -XX:MaxDirectMemorySize=1g
// leak java-direct: direct
//   part: native-blocks|managed-objects|live
//   code: DirectByteBuffer|keepBuffer|Unsafe
//   holder: buffers
// leak java-direct-garbage: garbage
//   kind: garbage that is not collected
//   verdict: leaks|grows|no-leak
//   part: native-blocks|managed.*|live
//   code: DirectByteBuffer|Cleaner|keepBuffer
//   says: garbage(?!-collected)|not collected|a collection
// leak java-classes: classes
//   kind: metaspace
//   part: .*(meta|class|managed|other).*
//   code: Loader|Class
//   holder: loaders
// leak java-executors: threads
//   kind: threads
//   part: threads
//   code: start|Executor|addWorker
// healthy java-executors-shut: shutdown
// healthy java-direct-collected: collected
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public class JavaNative {
    static final List<ByteBuffer> buffers = new ArrayList<>();
    static final List<Object> loaders = new ArrayList<>();

    public static class Plugin {
        public String name = "plug-in";

        public String describe(int n) { return name + n + (n > 3 ? " large" : " small"); }
    }

    static class Loader extends ClassLoader {
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("JavaNative$Plugin")) return super.loadClass(name, resolve);
            try (InputStream in = JavaNative.class.getResourceAsStream("/JavaNative$Plugin.class")) {
                byte[] code = in.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name);
            }
        }
    }

    static void keepBuffer(boolean kept) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(64 << 10);
        for (int i = 0; i < buffer.capacity(); i += 1024) buffer.put(i, (byte) i);
        if (kept) buffers.add(buffer);
    }

    static void loadPlugin() throws Exception {
        loaders.add(new Loader().loadClass("JavaNative$Plugin", true).getDeclaredConstructor().newInstance());
    }

    static void compute(boolean shutdown) throws Exception {
        ExecutorService executor = Executors.newSingleThreadExecutor();
        executor.submit(() -> 1).get();
        if (shutdown) executor.shutdown();
    }

    public static void main(String[] a) throws Exception {
        String mode = a.length > 0 ? a[0] : "collected";
        for (int n = 0;; n++) {
            switch (mode) {
            case "direct": keepBuffer(true); Thread.sleep(50); break;
            case "classes": loadPlugin(); Thread.sleep(5); break;
            case "threads": compute(false); Thread.sleep(300); break;
            case "shutdown": compute(true); Thread.sleep(300); break;
            case "garbage": keepBuffer(false); Thread.sleep(50); break;
            default: keepBuffer(false); Thread.sleep(50); if (n % 100 == 0) System.gc(); break;
            }
        }
    }
}
