/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told of spans that are stored, in the thread of the loader. */
#ifndef SERVE_WATCH_H
#define SERVE_WATCH_H

#include "store/store.h"

struct span_watch {
	/*
	 * Spans were appended to the store, with their fates (enum store_fate). They are borrowed,
	 * and may yet be taken back.
	 */
	void (*appended)(void *arg, const struct received_batch *batch, const uint8_t *fates);
	/* All spans that were appended since the last call are stored, or were taken back. */
	void (*settled)(void *arg, bool is_stored);
	void *arg;
};

#define WATCHES_MAX 4

#endif
