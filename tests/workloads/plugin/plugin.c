// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that a program loads later: its data is a root like any other. */
void *plugin_pointer;
