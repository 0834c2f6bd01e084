// SPDX-License-Identifier: GPL-2.0-or-later
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** A workload (tests/workloads/workload.h) that grows in the heap of the JVM: 96 MiB of arrays. */
public class Grow {
	private static final List<byte[]> kept = new ArrayList<>();

	private static void grow() {
		for (int i = 0; i < 96 * 1024; i++)
			kept.add(new byte[1008]); /* and 16 of header */
	}

	public static void main(String[] arguments) throws Exception {
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		Runtime runtime = Runtime.getRuntime();

		System.out.println("ready " + ProcessHandle.current().pid());
		for (String line; (line = input.readLine()) != null && !line.equals("quit");) {
			if (line.equals("grow")) {
				grow();
				System.out.println("done");
			} else {
				System.out.println("{\"mapped\":" + runtime.totalMemory() + ",\"held\":"
						   + (runtime.totalMemory() - runtime.freeMemory()) + "}");
			}
		}
	}
}
