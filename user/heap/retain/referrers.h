/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Referrers of the blocks of a class, and theirs, up to the roots, as a tree with counts:
 * PerfView's "Referred-From". Each block is followed along its shortest path. A few classes
 * repeated in turn form one element with its length: a chain, which grows if the length does.
 */
#ifndef LEAKMON_RETAIN_REFERRERS_H
#define LEAKMON_RETAIN_REFERRERS_H

#include "heap/retain/paths.h"
#include "report/retain_result.h"

/*
 * Builds the tree for up to 2000 held blocks of a class, evenly spread: *tree gets rows in display
 * order, the one with most blocks first; classes and roots by the maker's numbers. Small branches
 * are left out. Returns 0; -ENOENT: none is held; -ENOMEM; *tree is untouched on failure.
 */
int referrers_find(const struct path_maker *maker, uint32_t class, struct referrer_tree *tree);

#endif
