/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writers of pages that do not stand in html.c; the contract of writers is in output.h. */
#ifndef LEAKMON_OUTPUT_HTML_HTML_H
#define LEAKMON_OUTPUT_HTML_HTML_H

#include <stdio.h>

int html_profile_write(FILE *out, const void *data);

#endif
