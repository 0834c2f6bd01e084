// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stored_diagnosis.h"

#include <string.h>

#include "base/cleanup.h"

const char *stored_diagnosis_reason(const struct stored_diagnosis *diagnosis)
{
	static const struct {
		const char *key, *words;
	} reasons[] = {
		{DIAGNOSED_FOR_LEAK, "it began to leak"},
		{DIAGNOSED_FOR_LIMIT, "its memory limit came near"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!strcmp(reasons[i].key, diagnosis->reason))
			return reasons[i].words;
	}
	return diagnosis->reason;
}

void stored_diagnoses_free(struct stored_diagnoses *diagnoses)
{
	for (size_t i = 0; i < diagnoses->list.count; i++)
		vec_free(&diagnoses->list.items[i].lines);
	vec_free(&diagnoses->list);
}
