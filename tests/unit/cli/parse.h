/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line, given as one text with spaces, by a table and a check. */
#ifndef TESTS_UNIT_CLI_PARSE_H
#define TESTS_UNIT_CLI_PARSE_H

#include <string.h>

#include "cli/option.h"

static struct error parse_error;
static struct operands parse_operands;

static inline int parse(const struct option *table, void *fields, const char *line,
			int (*check)(void *, const struct operands *, struct error *))
{
	static char words[1024];
	static char *argv[64];
	char *save = NULL;
	int argc = 0, err;

	operands_free(&parse_operands);
	error_clear(&parse_error);
	strncpy(words, line, sizeof(words) - 1);
	argv[argc++] = (char *)"command";
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	err = options_parse(table, argv, fields, &parse_operands, &parse_error);
	return err || !check ? err : check(fields, &parse_operands, &parse_error);
}

#endif
