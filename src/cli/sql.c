/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/sql_view.h"
#include "cli/up_dir.h"
#include "store/sql.h"

struct sql_options {
	const char *dir;
	bool json;
	const char *sql;
};

#define AT(field) offsetof(struct sql_options, field)
static const struct option sql_option_table[] = {
	{"output", 'o', "DIR",
	 "the directory of 'fathom up' or 'fathom serve' (default: that of 'fathom up')", NULL,
	 AT(dir), option_text},
	{"json", 0, NULL, "print JSON", NULL, AT(json), option_flag},
	{0},
};
#undef AT

static int sql_check(void *options, const struct operands *operands, struct error *e)
{
	struct sql_options *o = options;

	bool has_dir = operands->count == 2 && !o->dir;

	if (operands->command || (operands->count != 1 && !has_dir))
		return error_say(e, EINVAL, "one SELECT is needed, in quotes");
	if (has_dir)
		o->dir = operands->items[0];
	o->sql = operands->items[operands->count - 1];
	return 0;
}

static int sql_command_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct sql_options *o = fields;
	char text[UP_DIR_BYTES];
	struct sql_view *view = sql_view_open(stdout, o->json);
	struct sql_taker taker;
	int err;

	if (!view)
		return error_set(e, ENOMEM, "cannot ask");
	taker = sql_view_taker(view);
	err = store_sql(up_dir(o->dir, text), o->sql, &taker, e);
	if (err)
		sql_view_drop(view);
	else if (sql_view_end(view))
		err = error_set(e, ENOMEM, "cannot print the answer");
	return err;
}

const struct command command_sql = {
	.name = "sql",
	.summary = "ask the store of spans in SQL",
	.usage = "[-o DIR] [--json] [DIR] 'SELECT ...'",
	.description =
		"Answers a SELECT over the spans that 'fathom up' or 'fathom serve' keeps, also\n"
		"while it runs, in the SQL of DuckDB. It only reads. The views are spans, kernel,\n"
		"operations, sums and calls; DESCRIBE and fathom-sql(1) list their columns. "
		"Prints\n"
		"a table on a terminal, and columns separated by tabs elsewhere.",
	.examples = "  fathom sql \"SELECT name, max(lock_ns) FROM spans GROUP BY ALL\"\n"
		    "  fathom sql /srv/fathom 'DESCRIBE spans'\n"
		    "  fathom sql --json \"SELECT * FROM calls\"\n",
	.options = sql_option_table,
	.options_bytes = sizeof(struct sql_options),
	.check = sql_check,
	.run = sql_command_run,
};
