// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cache by URL, std::unordered_map, whose keys have a query that never comes twice. `bounded`: it
 * is emptied at 20,000 entries.
 *
 * kind: C++ containers
 * leak url-cache: leak
 *   part: native-blocks
 *   code: cache_page
 *   holder: pages
 * healthy url-cache-bounded: bounded
 *   warm: 45
 */
#include <cstring>
#include <string>
#include <unistd.h>
#include <unordered_map>

static std::unordered_map<std::string, std::string> pages;

static void __attribute__((noinline)) cache_page(unsigned long number)
{
	std::string url = "https://shop.example.org/list?page=7&session=" + std::to_string(number);

	pages[url] = "<html>" + std::to_string(number) + std::string(700, 'p');
}

int main(int count, char **arguments)
{
	bool bounded = count > 1 && !strcmp(arguments[1], "bounded");

	for (unsigned long number = 0;; number++) {
		cache_page(number);
		if (bounded && pages.size() > 20000)
			pages.erase(pages.begin());
		if (number % 10 == 9)
			usleep(10000);
	}
}
