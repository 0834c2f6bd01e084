/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writers of pages that do not stand in html.c; the contract of writers is in output.h. */
#ifndef LEAKMON_OUTPUT_HTML_HTML_H
#define LEAKMON_OUTPUT_HTML_HTML_H

#include <stdio.h>

int html_profile_write(FILE *out, const void *data);
int html_triage_write(FILE *out, const void *data);

/* What pages without a script share: their head with a style, their end, and text of a target that
 * is made inert and escaped (0 or -ENOMEM); `html_escaped_write` for what is inert already. */
void html_plain_begin(FILE *out, const char *title);
void html_plain_end(FILE *out);
void html_escaped_write(FILE *out, const char *text);
int html_name_write(FILE *out, const char *name);

#endif
