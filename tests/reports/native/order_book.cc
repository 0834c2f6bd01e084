// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An order book whose std::map only grows: nodes, strings and vectors of three lines of one
 * function. The vectors' contents are equal, or differ.
 *
 * kind: C++ containers
 * leak order-book: equal
 *   part: native-blocks
 *   code: lines_fill
 *   near: OrderBook::place
 * leak order-book-varied: varied
 *   part: native-blocks
 *   code: lines_fill
 *   near: OrderBook::place
 * healthy order-book-closed: closed
 *   warm: 20
 */
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

struct Order {
	std::string customer;
	std::vector<int> lines;
};

static void __attribute__((noinline)) lines_fill(Order &order, int value)
{
	order.lines.assign(50, value);
}

class OrderBook
{
	std::map<unsigned long, Order> orders_;
	unsigned long next_ = 0;

      public:
	void place(const std::string &customer, bool varied)
	{
		Order o;
		o.customer = customer + " of the long and winding road";
		lines_fill(o, varied ? (int)next_ : 7);
		orders_.emplace(next_++, std::move(o));
	}
	void close_oldest()
	{
		if (orders_.size() > 2000)
			orders_.erase(orders_.begin());
	}
};

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "equal";
	OrderBook book;

	for (;;) {
		for (int i = 0; i < 10; i++) {
			book.place("customer-" + std::to_string(i), !strcmp(mode, "varied"));
			if (!strcmp(mode, "closed"))
				book.close_oldest();
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(50));
	}
}
