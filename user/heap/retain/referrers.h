/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Referrers of the blocks of a class, and what to that, up to the roots, as a tree with counts:
 * PerfView's "Referred-From". Each block is followed along its shortest path. Where a few classes
 * repeat in turn they are one element with its length: a chain, which grows if that does.
 */
#ifndef LEAKMON_RETAIN_REFERRERS_H
#define LEAKMON_RETAIN_REFERRERS_H

#include "heap/retain/paths.h"
#include "report/retain_result.h"

/*
 * For up to 2000 blocks of a class that are held, evenly spread: *tree gets rows in the order in
 * which they are shown, the one with most blocks first; classes and roots by the maker's numbers.
 * Small branches are left out. 0; -ENOENT: none is held; -ENOMEM; *tree is untouched on failure.
 */
int referrers_find(const struct path_maker *maker, uint32_t class, struct referrer_tree *tree);

#endif
