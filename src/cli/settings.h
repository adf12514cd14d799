/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: options that can also be given by the environment and by a file.
 *
 * The option --store-keep is FATHOM_STORE_KEEP in the environment, where an empty value counts as
 * none, and a line of the file:
 *
 *   # seven days of spans
 *   store-keep = 7d
 *
 * The command line has precedence over the environment, that over the file, and that over the
 * default. An option without a value is "yes" or "no" there. The file is --config, else fathom.conf
 * in the directory of --output, where it must belong to root or to who calls, since others may
 * write in that directory. A key that is no option is an error, but
 * one of a command that shares the file is passed over.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <stdio.h>

#include "cli/command.h"

#define SETTINGS_MAX 64 /* options of a command */

/* Where the value of an option is from. */
struct setting {
	char *text;	  /* owned; NULL: nothing but the default, or a flag */
	char *source;	  /* owned: "FATHOM_KEEP", "/etc/fathom.conf:3", "the command line"; NULL:
			     default */
	bool is_argument; /* of the command line */
};

/* Starts with all zero. */
struct settings {
	struct setting items[SETTINGS_MAX]; /* as the rows of the table */
	char **argv;			    /* owned array */
	char **made;			    /* owned: arguments made of settings */
	size_t made_count;
	bool has_help; /* the command line asks for help */
};

/*
 * Finds the settings of a command, and makes arguments for options_parse(): settings first, unless
 * the command line has the option, and then the command line. The command has the options --output
 * and --config. 0 or a negative errno. Free in any case.
 */
int settings_find(struct settings *s, const struct command *command, char **argv, struct error *e);

/*
 * Reads a file of settings as text, which the caller frees. One that is only found in a directory
 * may be missing, then the output stays as it is; else it must belong to root or to who calls.
 */
int settings_text_read(const char *path, bool is_found, char **out, struct error *e);

/* Prints each option with the value that is in force, and where it is from. */
void settings_print(const struct settings *s, const struct option *table, FILE *file);

void settings_free(struct settings *s);

#endif
