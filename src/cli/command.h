/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command: a file of static functions that ends with its `const struct
 * command`, and a row in table.c. Main parses by its table, checks, runs, and
 * prints the chain of causes once.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

#include "base/notice.h"
#include "cli/option.h"

struct command {
	const char *name;
	const char *summary;	      /* one line, without a full stop */
	const char *usage;	      /* what follows the name: "[-o DIR] [-- CMD ARG...]" */
	const char *description;      /* a paragraph for --help */
	const char *examples;	      /* lines, each with two spaces in front */
	const struct option *options; /* NULL: none but --help */
	size_t options_bytes;	      /* of the struct that the options fill */
	/*
	 * What a table cannot say: operands, options that exclude each other.
	 * -EINVAL with a line. May be NULL: then operands are refused.
	 */
	int (*check)(void *options, const struct operands *operands, struct error *e);
	/*
	 * Does it. The exit status, or a negative errno with a chain of causes,
	 * which main prints, and ends with 1.
	 */
	int (*run)(const void *options, const struct operands *operands, struct error *e);
	/* Frees what options own; also after a failed parse. May be NULL. */
	void (*release)(void *options);
};

/* All commands in the order of the help, NULL at the end. */
extern const struct command *const command_table[];

/* The command of that name, NULL if there is none. */
const struct command *command_find(const char *name);

/*
 * Says why the command could not be done: the exit status of it. For what takes a while behind
 * that; nothing more is said by main then.
 */
int command_fail(const struct command *command, int err, const struct error *e);

/* A notice that prints its lines on stderr, each behind the name of the program. */
extern const struct notice notice_stderr;

/* Usage, options and examples of a command, or of fathom. */
void command_help(const struct command *command, FILE *file);
void commands_help(FILE *file);

/* The program: returns the exit status. */
int commands_main(int argc, char **argv);

#endif
