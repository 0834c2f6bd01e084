/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a recording: one SQLite database per run of the monitor.
 * user/doc/recording-format.md documents them for readers; sqlite.org documents the format.
 *
 * A row of `points` or `ledgers` stands for its snapshot and for all later ones up to the next row
 * of the same site or process. Snapshots with `is_full` have a row for everything that is there, so
 * a state is read from the last full snapshot before it.
 */
#ifndef LEAKMON_STORE_SCHEMA_H
#define LEAKMON_STORE_SCHEMA_H

/* PRAGMA application_id: "LKMN"; how file(1) and we recognise a recording. */
#define SCHEMA_APPLICATION_ID 0x4c4b4d4e
/* PRAGMA user_version. Readers refuse every other one. */
#define SCHEMA_VERSION 1

/* The statements that create the tables, NULL at the end. The tables of families (figure_rows.h)
 * come on top. */
extern const char *const schema_sql[];

#endif
