// SPDX-License-Identifier: GPL-2.0-or-later
// Report: prestodb/presto#8993, cloudfoundry/java-buildpack#320, elastic/logstash#19248. The resident memory grows, heap
// and direct memory do not: threads that come and go free native memory into glibc's arenas. No leak.
//
// kind: memory that the allocator keeps
// healthy java-arenas:
//   warm: 30
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

public class ArenaBursts {
    static void burst(int round) throws Exception {
        Thread[] threads = new Thread[24];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                List<Deflater> deflaters = new ArrayList<>();
                for (int i = 0; i < 2 + round; i++) {
                    Deflater d = new Deflater();
                    d.setInput(new byte[1000]);
                    d.finish();
                    d.deflate(new byte[2000]);
                    deflaters.add(d);
                }
                try {
                    Thread.sleep(200);
                } catch (InterruptedException e) {
                    return;
                }
                for (Deflater d : deflaters) d.end();
            });
            threads[t].start();
        }
        for (Thread t : threads) t.join();
    }

    public static void main(String[] a) throws Exception {
        for (int round = 0;; round++) {
            burst(Math.min(round / 2, 60));
            Thread.sleep(1000);
        }
    }
}
