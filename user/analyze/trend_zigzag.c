// SPDX-License-Identifier: GPL-2.0-or-later
/* Turning points: a movement counts once it has come back by the threshold. */
#include "analyze/trend_parts.h"
#include "base/cleanup.h"

enum direction { UNDECIDED, UP, DOWN };

static void trough_add(struct trend_zigzag *zigzag, const struct trend_point *point)
{
	if (zigzag->trough_count == ARRAY_SIZE(zigzag->troughs)) {
		zigzag->trough_count /= 2;
		for (size_t i = 0; i < zigzag->trough_count; i++) {
			const struct trend_point *one = &zigzag->troughs[2 * i], *other = one + 1;

			zigzag->troughs[i] = one->value <= other->value ? *one : *other;
		}
	}
	zigzag->troughs[zigzag->trough_count++] = *point;
}

/* From one turning point to the next; the last movement has no next one yet. */
static void movement_add(struct trend_zigzag *zigzag, enum direction direction,
			 const struct trend_point *from, const struct trend_point *to)
{
	if (direction == UP) {
		zigzag->rise += to->value - from->value;
	} else {
		zigzag->fall += from->value - to->value;
		zigzag->falls++;
	}
}

void trend_zigzag(struct trend_zigzag *zigzag, const struct trend_point *points, size_t count,
		  double threshold)
{
	enum direction direction = UNDECIDED;
	const struct trend_point *from = points, *low = points, *high = points;

	*zigzag = (struct trend_zigzag){0};
	for (size_t i = 1; i < count; i++) {
		const struct trend_point *point = &points[i];

		low = point->value < low->value ? point : low;
		high = point->value > high->value ? point : high;
		if (direction != UP && point->value - low->value >= threshold) {
			if (direction == DOWN)
				movement_add(zigzag, DOWN, from, low);
			trough_add(zigzag, low);
			direction = UP;
			from = low;
			high = point;
		} else if (direction != DOWN && high->value - point->value >= threshold) {
			if (direction == UP)
				movement_add(zigzag, UP, from, high);
			direction = DOWN;
			from = high;
			low = point;
		}
	}
	if (direction == UP)
		movement_add(zigzag, UP, from, high);
	else if (direction == DOWN)
		movement_add(zigzag, DOWN, from, low);
}
