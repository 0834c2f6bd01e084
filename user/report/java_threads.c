// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/java_threads.h"

#include "base/cleanup.h"
#include "base/text.h"

void java_thread_report_free(struct java_thread_report *report)
{
	for (size_t i = 0; i < report->groups.count; i++)
		vec_free(&report->groups.items[i].stack.list);
	vec_free(&report->groups);
	vec_free(&report->gone);
	intern_free(&report->strings);
}

const struct frame *java_thread_place(const struct frames *frames)
{
	static const char *const libraries[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (frame->function &&
		    !text_begins_with_any(frame->function, libraries, ARRAY_SIZE(libraries)))
			return frame;
	}
	return frames->list.count ? &frames->list.items[0] : NULL;
}
