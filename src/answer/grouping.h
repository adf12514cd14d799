/* SPDX-License-Identifier: Apache-2.0 */
/* A way to make rows: a value of --by, which is one key or two. */
#ifndef ANSWER_GROUPING_H
#define ANSWER_GROUPING_H

#include "answer/filter.h"
#include "answer/keys.h"
#include "base/error.h"

#define GROUPING_NAME_BYTES 64

/* Plain values; it can be copied. */
struct grouping {
	const struct key *keys[2]; /* the second: NULL for one key */
	enum subject_kind of;	   /* what is counted */
	const char *sort;	   /* the default order */
	struct filter filter;	   /* what is counted of them; borrows its texts */
	char name[GROUPING_NAME_BYTES];
};

/*
 * Reads "process" or "process,file", with a filter, or NULL. 0, or -EINVAL with a message that
 * follows the name of the option: a key is unknown, the two do not go together, or nothing that has
 * them can be filtered in this way.
 */
int grouping_make(struct grouping *out, const char *by, const struct filter *filter,
		  struct error *e);

/*
 * The value of --by that suits a recording and a filter: "name" if the recording has spans of
 * applications, "process" if it has none, or if the filter asks for processes or calls.
 */
const char *grouping_default(const struct partial *p, const struct filter *filter);

/* What sums must tell apart for it, and of which process or thread they need be. */
struct sum_choice grouping_sums(const struct grouping *by);

/*
 * Sums up a finished partial. `out` is all zero, but out->source_host may be set; its rows copy
 * what they need of the partial. `host` becomes the host of each row, NULL if the answer is of one
 * host. 0 or -ENOMEM.
 */
int rows_fill(struct rows *out, const struct partial *p, const struct grouping *by,
	      const char *host);

/*
 * Fills and finishes the rows of one host. `sort` NULL means the default of the grouping. Errors as
 * above. Free with rows_free() in any case.
 */
int rows_build(struct rows *out, const struct partial *p, const struct grouping *by,
	       const char *sort);

#endif
