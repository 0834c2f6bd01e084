// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects that refer to each other by std::shared_ptr: each connection's callback keeps the
 * connection. Nothing else points to them. `fixed`: a weak_ptr.
 *
 * kind: C++ containers
 * leak shared-ptr-cycle: leak
 *   part: native-blocks
 *   code: Connection|connection_open
 * healthy shared-ptr-weak: fixed
 */
#include <cstring>
#include <functional>
#include <memory>
#include <unistd.h>
#include <vector>

struct Connection {
	std::vector<char> input = std::vector<char>(2000);
	std::function<void()> on_close;
};

static void __attribute__((noinline)) connection_open(bool fixed)
{
	auto connection = std::make_shared<Connection>();

	if (fixed) {
		std::weak_ptr<Connection> weak = connection;
		connection->on_close = [weak] { weak.lock()->input.clear(); };
	} else {
		connection->on_close = [connection] { connection->input.clear(); };
	}
}

int main(int count, char **arguments)
{
	bool fixed = count > 1 && !strcmp(arguments[1], "fixed");

	for (;;) {
		for (int i = 0; i < 4; i++)
			connection_open(fixed);
		usleep(20000);
	}
}
