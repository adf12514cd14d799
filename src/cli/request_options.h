/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `fathom requests`. */
#ifndef CLI_REQUEST_OPTIONS_H
#define CLI_REQUEST_OPTIONS_H

#include "cli/option.h"

struct request_options {
	const char *trace_id; /* set by the check: 32 hex digits, NULL: not given */
	uint64_t slowest;     /* 0: not given */
	const char *through;
	bool errors, all, kernel;
	uint32_t min_probability_ppm;
	struct time_point from, to;
	int boot;
	uint64_t threads; /* that read chunks; 0: one for each CPU */
	bool json, json_lines, dot;
	const char *critical; /* a trace id or span id; NULL: not given */
	const char *each;     /* a command that reads a request a line; NULL: none */
	const char **dirs;    /* owned array */
	size_t dirs_count;
};

extern const struct option request_option_table[];
extern const char request_usage[];
int request_options_check(void *options, const struct operands *operands, struct error *e);
void request_options_release(void *options);

/* Whether certain requests are asked for. */
static inline bool request_options_select(const struct request_options *o)
{
	return o->trace_id || o->slowest || o->through || o->errors;
}

#endif
