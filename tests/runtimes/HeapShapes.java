// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.List;

/**
 * Heaps that grow: "leak" keeps 512 KiB with each step, "garbage" drops what it has when that is 16
 * MiB, and is started so that nothing is collected.
 */
public class HeapShapes {
	static final int STEP = 512;

	static List<byte[]> kept = new ArrayList<>();

	static void step(int count, boolean leaks) {
		for (int i = 0; i < STEP; i++)
			kept.add(new byte[1024]);
		if (!leaks && kept.size() >= 16 * 1024)
			kept = new ArrayList<>();
		if (count % 40 == 39)
			System.gc();
	}

	public static void main(String[] arguments) throws Exception {
		boolean leaks = arguments[0].equals("leak");

		System.out.println("ready");
		for (int count = 0; System.in.available() == 0; count++) {
			step(count, leaks);
			Thread.sleep(100);
		}
	}
}
