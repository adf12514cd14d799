/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command: a file of static functions that ends with its `const struct
 * command`, and a row in table.c. commands_main() parses its options by a table,
 * checks them, runs the command, and prints the chain of causes once.
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
	const char *examples;	      /* lines, each indented by two spaces */
	const struct option *options; /* NULL: none but --help */
	size_t options_bytes;	      /* size of the struct that the options fill */
	/* Operands are recordings: for the directory of a `fathom up`, its chunks are taken. */
	bool takes_recordings;
	/* Its options can also be given by the environment and by a file (cli/settings.h). */
	bool takes_settings;
	/* Uses the same file, whose settings for that command alone this one passes over; or NULL.
	 */
	const struct command *shares_settings;
	/*
	 * Checks what a table cannot: operands, options that exclude each other.
	 * Returns -EINVAL with a message. May be NULL: operands are then refused.
	 */
	int (*check)(void *options, const struct operands *operands, struct error *e);
	/*
	 * Runs the command. Returns the exit status, or a negative errno with a chain
	 * of causes, which commands_main() prints. It then exits with 1, or with 2 after
	 * error_misuse().
	 */
	int (*run)(const void *options, const struct operands *operands, struct error *e);
	/* Frees the memory of the options, also after a failed parse. May be NULL. */
	void (*release)(void *options);
};

/* All commands in the order of the help; NULL ends the list. */
extern const struct command *const command_table[];

/* The command of that name, NULL if there is none. */
const struct command *command_find(const char *name);

/*
 * Prints why the command failed, and returns its exit status. For a command that prints this before
 * something that takes a while; commands_main() then prints nothing more.
 */
int command_fail(const struct command *command, int err, const struct error *e);

/* A notice that prints its lines on stderr, each after the name of the program. */
extern const struct notice notice_stderr;

/* Usage, options, settings that are in force, and examples of a command, or of fathom. */
void command_help(const struct command *command, FILE *file);
void commands_help(FILE *file);

/* The program: returns the exit status. */
int commands_main(int argc, char **argv);

#endif
