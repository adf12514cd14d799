/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of functions: flame graphs and folded stacks. */
#ifndef CLI_REPORT_FUNCTIONS_H
#define CLI_REPORT_FUNCTIONS_H

#include "answer/profile.h"
#include "cli/read_options.h"

/* What the options ask for; they were checked. It borrows the filter. */
struct profile_choice report_profile_choice(const struct report_options *o,
					    const struct filter *filter);

/* Refuses a recording that has nothing of it: -ENOENT with a message that says how to record it. */
int report_profile_check(const struct report_options *o, const struct profile_choice *choice,
			 const struct sources *sources, struct error *e);

/* Writes the flame graph to its file, or the folded stacks to stdout. 0 or a negative errno. */
int report_profile_write(const struct report_options *o, const struct profile_choice *choice,
			 const struct sources *sources, struct error *e);

#endif
