// SPDX-License-Identifier: GPL-2.0-or-later
// Report: awslabs/aws-glue-schema-registry#203, apache/curator#874, prestodb/presto#8993. Deflaters without end():
// native memory waits for a collection, which a heap with room never runs. `held`: they stay in a list.
//
// kind: off-heap memory of managed objects
// leak deflaters-garbage: garbage
//   kind: garbage that is not collected
//   verdict: leaks|grows|no-leak
//   part: native-blocks|managed.*|live
//   code: Deflater
//   says: garbage(?!-collected)|not collected|a collection
// leak deflaters-held: held
//   part: native-blocks|managed-objects|live
//   code: Deflater
//   holder: pool
// healthy deflaters-ended: fixed
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

public class DeflaterNoEnd {
    static final List<Deflater> pool = new ArrayList<>();

    static int compress(byte[] message, String mode) {
        Deflater d = new Deflater();
        d.setInput(message);
        d.finish();
        int n = d.deflate(new byte[message.length + 100]);
        if (mode.equals("fixed")) d.end();
        if (mode.equals("held")) pool.add(d);
        return n;
    }

    public static void main(String[] a) throws Exception {
        String mode = a.length > 0 ? a[0] : "";
        byte[] message = new byte[2000];
        for (;;) {
            compress(message, mode);
            Thread.sleep(50);
        }
    }
}
