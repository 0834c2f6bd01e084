/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search in sorted arrays. */
#ifndef LEAKMON_BASE_SEARCH_H
#define LEAKMON_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the number of leading `items`, of `count`, that lie before the wanted position:
 * `is_before` is a condition on *`item`, a name of the caller's, which holds for all of them and
 * for none after them.
 *
 *    first = SORTED_BEFORE(row, table->rows, table->count, row->pc < pc);
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): the name in a declaration takes none */
#define SORTED_BEFORE(item, items, count, is_before)                                               \
	({                                                                                         \
		__typeof__(&(items)[0]) sorted_ = (items);                                         \
		size_t low_ = 0, high_ = (count);                                                  \
                                                                                                   \
		while (low_ < high_) {                                                             \
			size_t middle_ = low_ + (high_ - low_) / 2;                                \
			__typeof__(sorted_) item = &sorted_[middle_];                              \
                                                                                                   \
			if (is_before)                                                             \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				high_ = middle_;                                                   \
		}                                                                                  \
		low_;                                                                              \
	})
/* NOLINTEND(bugprone-macro-parentheses) */

/*
 * For sorted ranges from `start` to before `end` that do not overlap: returns a pointer to the one
 * that contains `address`, or NULL.
 */
#define RANGE_AT(items, count, address)                                                            \
	({                                                                                         \
		__typeof__(&(items)[0]) ranges_ = (items);                                         \
		const uint64_t address_ = (address);                                               \
		const size_t count_ = (count);                                                     \
		const size_t at_ =                                                                 \
			SORTED_BEFORE(range_, ranges_, count_, range_->end <= address_);           \
                                                                                                   \
		at_ < count_ &&ranges_[at_].start <= address_ ? &ranges_[at_] : NULL;              \
	})

#endif
