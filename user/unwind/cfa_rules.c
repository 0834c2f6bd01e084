// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/cfa_rules.h"

#include "base/cleanup.h"

#define WORD 8
/* rt_sigframe on x86-64: ucontext at rsp, uc_mcontext at + 40, its rip the 17th register. */
#define SIGNAL_RIP_OFFSET (40 + 16 * WORD)

static const enum lm_unwind_kind kinds[] = {
	[CFA_UNSET] = LM_UNWIND_UNSUPPORTED,
	[CFA_SP] = LM_UNWIND_SP,
	[CFA_FP] = LM_UNWIND_FP,
	[CFA_OTHER_REGISTER] = LM_UNWIND_UNSUPPORTED,
	[CFA_SP_DEREF] = LM_UNWIND_SP_DEREF,
	[CFA_FP_DEREF] = LM_UNWIND_FP_DEREF,
	[CFA_PLT] = LM_UNWIND_PLT,
	[CFA_OTHER_EXPRESSION] = LM_UNWIND_UNSUPPORTED,
};
_Static_assert(ARRAY_SIZE(kinds) == CFA_MAX_, "a kind for every base");

static bool is_at(const struct saved_rule *rule, enum saved_place place, int64_t offset)
{
	return rule->place == place && rule->offset == offset;
}

static bool cfa_words(const struct cfa_rules *rules, __s16 *words)
{
	int64_t unit = rules->cfa == CFA_PLT ? 1 : WORD;

	if (rules->cfa_offset % unit || rules->cfa_offset / unit < INT16_MIN ||
	    rules->cfa_offset / unit > INT16_MAX)
		return false;
	*words = (__s16)(rules->cfa_offset / unit);
	return true;
}

/* 0 words mean "not saved", so rbp saved at the CFA itself has no row. */
static bool fp_words(const struct cfa_rules *rules, __s8 *words)
{
	const struct saved_rule *fp = &rules->saved[SAVED_FP];

	if (fp->place == SAVED_AT_CFA) {
		if (!fp->offset || fp->offset % WORD || fp->offset / WORD < INT8_MIN ||
		    fp->offset / WORD > INT8_MAX)
			return false;
		*words = (__s8)(fp->offset / WORD);
		return true;
	}
	*words = 0;
	if (rules->cfa == CFA_FP_DEREF)
		return is_at(fp, SAVED_AT_FP, 0);
	/* Whoever declares it undefined promises that the callers do not need it. */
	return fp->place == SAVED_UNSPECIFIED || fp->place == SAVED_UNDEFINED ||
	       fp->place == SAVED_SAME;
}

struct lm_unwind_row cfa_rules_row(const struct cfa_rules *rules, bool signal_frame)
{
	const struct saved_rule *ra = &rules->saved[SAVED_RA], *sp = &rules->saved[SAVED_SP];
	struct lm_unwind_row row = {.kind = (__u8)kinds[rules->cfa]};

	if (ra->place == SAVED_UNDEFINED)
		return (struct lm_unwind_row){.kind = LM_UNWIND_END};
	if (signal_frame && is_at(ra, SAVED_AT_SP, SIGNAL_RIP_OFFSET))
		return (struct lm_unwind_row){.kind = LM_UNWIND_SIGNAL};
	if (row.kind == LM_UNWIND_UNSUPPORTED || !is_at(ra, SAVED_AT_CFA, -WORD) ||
	    sp->place != SAVED_UNSPECIFIED || !cfa_words(rules, &row.cfa_words) ||
	    !fp_words(rules, &row.fp_words))
		return (struct lm_unwind_row){.kind = LM_UNWIND_UNSUPPORTED};
	return row;
}
