// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Sessions that a cache never drops, between much short-lived work. */
public class Sessions {
	static class Session {
		final String user;
		final List<String> basket = new ArrayList<>();

		Session(int number) {
			user = "user " + number;
			for (int i = 0; i < 20; i++)
				basket.add(number + "/" + i);
		}
	}

	static final Map<Integer, Session> cache = new HashMap<>();

	static int login(int number) {
		Session session = new Session(number);
		if (number % 4 == 0)
			cache.put(number, session);
		return session.toString().length();
	}

	public static void main(String[] arguments) throws Exception {
		for (int number = 0;; Thread.sleep(50))
			for (int i = 0; i < 30; i++)
				login(++number);
	}
}
