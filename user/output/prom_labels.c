// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/prom_labels.h"

#include "base/cleanup.h"
#include "base/text.h"

void prom_header(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP leakmon_%s %s\n# TYPE leakmon_%s %s\n", name, help, name, type);
}

/* Inert first: no control character and no invalid UTF-8 may reach the reader. */
void prom_label(FILE *out, const char *key, const char *value, const char *before)
{
	_cleanup_free_ char *inert = text_inert(value ? value : "");

	fprintf(out, "%s%s=\"", before, key);
	for (const char *c = inert ? inert : ""; *c; c++) {
		if (*c == '\\' || *c == '"')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
}

void prom_container_labels(FILE *out, const struct container *container)
{
	if (!container_proven_id(container))
		return;
	if (container->namespace)
		prom_label(out, "namespace", container->namespace, ",");
	if (container->pod)
		prom_label(out, "pod", container->pod, ",");
	prom_label(out, "container", container->name ? container->name : container->id, ",");
}
