/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads recordings of one host or of several hosts. Each host has its own source, since hosts share
 * neither threads nor a monotonic clock. Only rows and documents join them. Partial files
 * (answer/files.h) can be named instead of recordings, or together with them.
 */
#ifndef ANSWER_SOURCES_H
#define ANSWER_SOURCES_H

#include "answer/load.h"

/* Start with all zero. */
struct sources {
	VEC(struct source *) list; /* owned, by the name of the host */
	struct source_view view;   /* of all hosts; points into this struct and the sources */
	bool several;		   /* several hosts: rows, gaps and traces name their host */
	char missing[2 * CHUNK_MISSING_BYTES];
	VEC(struct clock_view) clocks;
	VEC(struct gap_view) gaps;
	VEC(struct step_view) steps;
};

/*
 * Loads the latest boot of each host, as source_load() does for one. A host without records in the
 * range is left out; -ERANGE if no host has any. With several hosts, -EINVAL if an earlier boot is
 * requested, or a limit that is not Unix time. Free it with sources_free() in any case.
 */
int sources_load(const struct source_options *options, struct sources *out, struct error *e);
void sources_free(struct sources *sources);

/* The host that rows and traces of a source name; NULL if there is only one host. */
static inline const char *sources_host(const struct sources *sources, const struct source *source)
{
	return sources->several ? source->host : NULL;
}

#endif
