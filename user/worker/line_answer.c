// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/line_answer.h"

#include <errno.h>
#include <stdlib.h>

int line_answer_allocate(struct line_answer *answer, size_t ranges, size_t frames)
{
	answer->ranges = calloc(ranges + 1, sizeof(*answer->ranges));
	answer->frames = calloc(frames + 1, sizeof(*answer->frames));
	return answer->ranges && answer->frames ? 0 : -ENOMEM;
}

void line_answer_free(struct line_answer *answer)
{
	free(answer->ranges);
	free(answer->frames);
	free(answer->strings);
	*answer = (struct line_answer){0};
}
