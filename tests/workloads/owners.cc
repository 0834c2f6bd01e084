// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What C++ programs hold their objects by, COUNT of each class: containers of the library in
 * variables of any kind; and the same lost, together with whatever they are in. Numbers of all
 * sizes lie beside them, as hashes and identifiers do.
 */
#include "workload.h"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

static constexpr size_t COUNT = 1000;

template <int PLACE> struct Object {
	virtual ~Object() = default;
	uint64_t number = 0;
	std::string name = "a name that is too long to be in the object itself";
};

/* Each place that holds objects has a class of its own. */
struct OfMap : Object<0> {
};
struct OfStatic : Object<1> {
};
struct OfLocal : Object<2> {
};
struct OfShared : Object<3> {
};
struct OfClosure : Object<4> {
};
struct OfThread : Object<5> {
};
struct OfMember : Object<6> {
};
struct LostList : Object<7> {
};
struct LostMap : Object<8> {
};
struct LostCycle : Object<9> {
	std::shared_ptr<LostCycle> next;
};
struct LostVector : Object<10> {
};

static uint64_t next_number = 88172645463325252u;

/* Marsaglia's xorshift: every other one has 32 bits, as a hash does. */
template <class T> static T *make()
{
	T *made = new T;

	next_number ^= next_number << 13;
	next_number ^= next_number >> 7;
	next_number ^= next_number << 17;
	made->number = next_number % 2 ? next_number >> 32 : next_number;
	return made;
}

struct Server {
	std::deque<std::unique_ptr<OfMember>> queue;
};

static std::map<std::string, OfMap *> by_name;
static std::unordered_map<uint64_t, std::shared_ptr<OfShared>> by_number;
static std::vector<std::function<uint64_t()>> callbacks;
static std::unique_ptr<Server> server;
static thread_local std::list<OfThread *> of_thread;

static std::vector<OfStatic *> &registry()
{
	static std::vector<OfStatic *> objects;

	return objects;
}

static SITE void hold()
{
	server = std::make_unique<Server>();
	for (size_t i = 0; i < COUNT; i++) {
		std::shared_ptr<OfClosure> captured(make<OfClosure>());

		by_name[std::to_string(i)] = make<OfMap>();
		by_number[i * 7919].reset(make<OfShared>());
		callbacks.push_back([captured] { return captured->number; });
		server->queue.emplace_back(make<OfMember>());
		registry().push_back(make<OfStatic>());
		of_thread.push_back(make<OfThread>());
	}
}

static SITE void lose()
{
	auto *list = new std::list<LostList *>;
	auto *map = new std::map<size_t, std::unique_ptr<LostMap>>;
	auto *vector = new std::vector<LostVector *>;
	std::shared_ptr<LostCycle> first(make<LostCycle>()), last = first;

	for (size_t i = 0; i < COUNT; i++) {
		list->push_back(make<LostList>());
		(*map)[i].reset(make<LostMap>());
		vector->push_back(make<LostVector>());
		if (i) {
			last->next.reset(make<LostCycle>());
			last = last->next;
		}
	}
	last->next = first;
}

/* Whatever calls before have left there. */
static SITE void wipe()
{
	volatile char left[32768];

	for (size_t i = 0; i < sizeof(left); i++)
		left[i] = 0;
}

int main()
{
	std::vector<std::unique_ptr<OfLocal>> locals;
	char line[32], byte;

	hold();
	lose();
	for (size_t i = 0; i < COUNT; i++)
		locals.emplace_back(make<OfLocal>());
	wipe();
	if (write(1, line,
		  static_cast<size_t>(snprintf(line, sizeof(line), "ready %d\n", getpid()))) < 0)
		return 1;
	while (read(0, &byte, 1) > 0)
		;
	return locals.empty();
}
