// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library with thread-locals of its own, built several times: linked to the workload `locals`
 * (PART start), loaded by it later (later; later_static: with the initial-exec model, so that its
 * block is below the thread pointer all the same), and without private symbols (later_stripped).
 */
#define JOIN(part, name) part##_##name
#define NAME(part, name) JOIN(part, name)

/* Large, so that ld.so cannot put it with those of the start. */
static __thread char padding[PADDING] __attribute__((used));
static __thread void *volatile private_local;
/* A unique name: ld.so resolves two variables of one name to the first. */
__thread void *volatile NAME(PART, exported);

extern "C" __attribute__((visibility("default"))) void NAME(PART, keep)(void *first, void *second)
{
	padding[0] = 1;
	private_local = first;
	NAME(PART, exported) = second;
}
