// SPDX-License-Identifier: GPL-2.0-or-later
// An unreachable cycle: 250 times a second an order and its customer point at each other and are
// forgotten one time in ten. Between them, blocks of all sizes come and go.
#include <memory>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

struct Customer;

struct Order {
	std::shared_ptr<Customer> customer;
	char items[4000];
};

struct Customer {
	std::shared_ptr<Order> last;
	std::string name;
};

static void __attribute__((noinline)) place_order(unsigned number)
{
	auto order = std::make_shared<Order>();

	order->items[0] = 'a';
	order->customer = std::make_shared<Customer>();
	order->customer->name = "customer number " + std::to_string(number);
	if (number % 5 == 0)
		order->customer->last = order; /* BUG: a cycle */
}

int main()
{
	std::minstd_rand random(1);
	std::vector<std::string> cache(2000);

	for (unsigned number = 0;; number++) {
		place_order(number);
		for (int i = 0; i < 400; i++)
			cache[random() % cache.size()] = std::string(random() % 2000, 'x');
		usleep(4000);
	}
}
