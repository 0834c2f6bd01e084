// SPDX-License-Identifier: GPL-2.0-or-later
// Report: luben/zstd-jni#156 and #26, rabbitmq/rabbitmq-stream-java-client#882. A stream that is not closed leaves its
// native context, and the Java object is collected. `fixed`: it is closed.
//
// kind: off-heap memory of managed objects
// flags: -Xmx256m /usr/share/java/zstd-jni.jar
// leak zstd-streams: leak
//   part: native-blocks
//   code: ZstdStreams.*compress|ZstdStreams\.java
//   near: ZSTD|Zstd
// healthy zstd-streams-closed: fixed
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import java.io.IOException;
import java.io.OutputStream;

public class ZstdStreams {
    static final byte[] message = new byte[50000];

    static void compress(boolean fixed) throws IOException {
        OutputStream out = new ZstdOutputStreamNoFinalizer(OutputStream.nullOutputStream(), 3);
        out.write(message);
        out.flush();
        if (fixed) out.close();
    }

    public static void main(String[] a) throws Exception {
        for (int i = 0; i < message.length; i++) message[i] = (byte) (i * i >> 7);
        for (;;) {
            compress(a.length > 0 && a[0].equals("fixed"));
            Thread.sleep(200);
        }
    }
}
