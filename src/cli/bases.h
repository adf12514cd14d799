/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bases of recordings that are read together: each stands for the chunks of its
 * directory that retention took away, and for those that it was about to take when a crash
 * came. Only what nobody else recorded at the same time can be joined with it.
 */
#ifndef CLI_BASES_H
#define CLI_BASES_H

#include "chunk/base.h"
#include "map/partial.h"

struct bases {
	const char *const *dirs; /* borrowed, as is what they point to */
	size_t count;
	bool quiet;			    /* nothing is told on stderr */
	const struct recording_base *given; /* the one of a caller, in place of all; borrowed */
	struct recording_base *read;	    /* of each directory; no data: there is none */
	size_t begun;			    /* the one that the answer begins with; count: none */
};

/*
 * Reads those of the directories, unless one is given (NULL: none is). One that cannot be read
 * is told on stderr, and left out. 0 or -ENOMEM. Close it in any case.
 */
int bases_open(struct bases *bases, const struct recording_base *given);
void bases_close(struct bases *bases);

/*
 * Where an answer begins: *out (the caller's) is a partial of the base that stands before the
 * first chunks, or an empty one, *first the first chunk that is not in it. 0 or -ENOMEM.
 */
int bases_begin(struct bases *bases, const struct recording_info *info,
		const struct partial_options *options, struct partial **out, size_t *first);

/*
 * Merges the base that stands before the chunk `at`, the first of its directory, into `into`,
 * which covers the time up to *covered_ns: nobody recorded in between. Chunks that the base
 * stands for are passed over in the recording. One that does not fit is told, and left out. 0 or
 * -ENOMEM.
 */
int bases_insert(struct bases *bases, struct recording *recording, size_t at, struct partial *into,
		 u64 *covered_ns);

#endif
