/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as tables. A command describes each option once. Parsing, defaults and
 * help use the same table.
 *
 *   struct sleep_options { uint64_t time_ns; bool quiet; };
 *   static const struct option options[] = {
 *           {"time", 't', "TIME", "how long", "1s", offsetof(...), option_duration},
 *           {"quiet", 'q', NULL, "say nothing", NULL, offsetof(...), option_flag},
 *           {0},
 *   };
 *
 * A new type of value is a function like option_duration().
 */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/range.h"
#include "base/vec.h"

struct option {
	const char *name; /* long, without dashes; NULL ends the table */
	char letter;	  /* short, 0: none */
	/* NULL: the option takes no value. "[HZ]": it can do without, and has no short name. */
	const char *metavar;
	const char *help;
	const char *preset; /* parsed before the command line; NULL: the field stays zero */
	size_t offset;	    /* offset of its field in the command's struct */
	/*
	 * Reads a text (NULL for a flag) into the field. 0, or -EINVAL with a message that
	 * follows the value: "is too large". A list collects the values of several calls.
	 */
	int (*parse)(void *field, const char *text, struct error *e);
};

/* A list of texts; the texts are owned. Zero is the empty list. */
struct option_list {
	char **data;
	size_t count;
	size_t capacity;
};

struct option_pids {
	uint32_t *data; /* owned */
	size_t count;
	size_t capacity;
};

int option_flag(void *field, const char *text, struct error *e);  /* bool */
int option_text(void *field, const char *text, struct error *e);  /* const char *, borrowed */
int option_texts(void *field, const char *text, struct error *e); /* struct option_list, as given */
int option_names(void *field, const char *text, struct error *e); /* the same, split at commas */
int option_pids(void *field, const char *text, struct error *e);  /* struct option_pids */
int option_pid(void *field, const char *text, struct error *e);	  /* uint32_t, not 0 */
int option_count(void *field, const char *text, struct error *e); /* uint64_t, not 0 */
int option_duration(void *field, const char *text, struct error *e); /* uint64_t ns */
int option_seconds(void *field, const char *text, struct error *e);  /* the same, bare: seconds */
int option_size(void *field, const char *text, struct error *e);     /* uint64_t bytes */
int option_limits(void *field, const char *text, struct error *e);   /* struct limits */
int option_time(void *field, const char *text, struct error *e);     /* struct time_point */
int option_boot(void *field, const char *text, struct error *e);     /* int, 0 or negative */

void option_list_free(struct option_list *list);

/* The arguments that are not options. Borrows from argv. */
struct operands {
	char **items; /* owned array */
	size_t count;
	char **command;		 /* what follows "--", NULL-terminated; NULL: there was no "--" */
	struct option_list made; /* texts of items that are not argv's */
};

void operands_free(struct operands *operands);

#define OPTIONS_HELP 1

/*
 * Parses argv[1..], which ends with NULL, by a table into `fields`, which is zeroed memory. Options
 * and operands may be mixed. 0, OPTIONS_HELP if help was requested, or -EINVAL with a message. Free
 * the fields and operands in any case.
 */
int options_parse(const struct option *table, char **argv, void *fields, struct operands *operands,
		  struct error *e);

/*
 * Calls `take` for each option of the command line, in its order, with its text (NULL for a flag).
 * 0, OPTIONS_HELP if help is among them, what `take` returned if that is not 0, or -EINVAL with a
 * message.
 */
typedef int option_take_fn(void *arg, const struct option *option, const char *text,
			   struct error *e);
int options_each(const struct option *table, char **argv, option_take_fn *take, void *arg,
		 struct error *e);

/* The name with the smallest edit distance to a text; NULL if none is close. */
const char *name_suggest(const char *text, const char *const *names, size_t count);

#endif
