// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/python_stacks.h"

void python_stacks_free(struct python_stacks *stacks)
{
	for (size_t i = 0; i < stacks->groups.count; i++) {
		vec_free(&stacks->groups.items[i].stack.list);
		vec_free(&stacks->groups.items[i].tids);
	}
	vec_free(&stacks->groups);
	intern_free(&stacks->strings);
}

uint64_t python_stacks_threads(const struct python_stacks *stacks)
{
	uint64_t threads = 0;

	for (size_t i = 0; i < stacks->groups.count; i++)
		threads += stacks->groups.items[i].tids.count;
	return threads;
}
