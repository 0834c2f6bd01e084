// SPDX-License-Identifier: GPL-2.0-or-later
/**
 * A web server: /work answers; /leak answers, too, and keeps ten sessions: with "static" in a static
 * map, with "threadlocal" in a ThreadLocal of the threads that answer.
 */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

public class Server {
	static class Session {
		final int number;
		final int[] items = new int[8];

		Session(int number) {
			this.number = number;
		}
	}

	static class Cache {
		static final Map<Integer, Session> sessions = new ConcurrentHashMap<>();
	}

	static final ThreadLocal<List<Session>> context = ThreadLocal.withInitial(ArrayList::new);
	static boolean inThreads;

	static String leak() {
		for (int i = 0; i < 10; i++) {
			Session session = new Session(i);
			if (inThreads)
				context.get().add(session);
			else
				Cache.sessions.put(System.identityHashCode(session) ^ Cache.sessions.size() << 20, session);
		}
		return "ok";
	}

	static String work() {
		Map<Integer, Session> sessions = new HashMap<>();
		for (int i = 0; i < 100; i++)
			sessions.put(i, new Session(i));
		return sessions.size() + " sessions";
	}

	static void answer(HttpExchange exchange, String text) throws IOException {
		exchange.getRequestBody().readAllBytes();
		exchange.sendResponseHeaders(200, text.length());
		exchange.getResponseBody().write(text.getBytes());
		exchange.close();
	}

	public static void main(String[] arguments) throws Exception {
		inThreads = arguments[0].equals("threadlocal");
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
		server.createContext("/leak", exchange -> answer(exchange, leak()));
		server.createContext("/work", exchange -> answer(exchange, work()));
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
		System.out.println(server.getAddress().getPort());
	}
}
