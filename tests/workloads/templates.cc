// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * templates: `go` fills containers of objects without a vtable, so that only the call stacks of
 * their blocks reveal their types; `truth` prints the number of blocks of each type.
 */
#include "workload.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shop
{
struct Item {
	uint64_t numbers[6];
};
/* Its constructor allocates something else. */
struct Owner {
	uint64_t *owned;
	Owner() : owned(static_cast<uint64_t *>(malloc(24)))
	{
	}
};
} // namespace shop

static std::vector<shop::Item> vector;
static std::list<shop::Item> list;
static std::map<int, shop::Item> map;
static std::vector<std::unique_ptr<shop::Item>> items;
static std::vector<std::unique_ptr<shop::Owner>> owners;
static std::vector<std::string> strings;
/* `new Closed[0]` has only a count, and the program keeps the address behind that. */
struct Closed {
	uint64_t value;
	~Closed()
	{
		__asm__ volatile("" : : "r"(this) : "memory");
	}
};
static Closed *volatile none[20];

static SITE void fill()
{
	vector.reserve(100);
	items.reserve(10);
	owners.reserve(10);
	strings.reserve(5);
	for (int i = 0; i < 30; i++)
		list.push_back(shop::Item());
	for (int i = 0; i < 20; i++)
		map[i] = shop::Item();
	for (int i = 0; i < 10; i++)
		items.push_back(std::make_unique<shop::Item>());
	for (int i = 0; i < 7; i++)
		owners.push_back(std::make_unique<shop::Owner>());
	for (auto &one : none)
		one = new Closed[0];
	for (int i = 0; i < 5; i++)
		strings.emplace_back(100, 'x');
}

static void print_truth()
{
	static const struct {
		const char *type;
		unsigned blocks;
	} types[] = {
		{"shop::Item", 1 + 10}, /* the vector, and each alone */
		{"std::_List_node<shop::Item>", 30},
		{"std::_Rb_tree_node<std::pair<int const, shop::Item> >", 20},
		{"std::unique_ptr<shop::Item, std::default_delete<shop::Item> >", 1},
		{"std::unique_ptr<shop::Owner, std::default_delete<shop::Owner> >", 1},
		{"shop::Owner", 7}, /* not what they own */
		{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		 1},
		{"char", 5},
	};

	say("{\"types\":[");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		say("%s{\"type\":\"%s\",\"blocks\":%u}", i ? "," : "", types[i].type,
		    types[i].blocks);
	say("]}\n");
}

int main()
{
	static const struct command commands[] = {
		{"go", fill, false},
		{"truth", print_truth, true},
	};
	static const struct truth truth = {};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
