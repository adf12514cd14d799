/* SPDX-License-Identifier: Apache-2.0 */
/* The loader: a thread that stores what the log has, and trusts nothing of it. */
#ifndef SERVE_LOADER_H
#define SERVE_LOADER_H

#include "log/log.h"
#include "serve/claims.h"
#include "serve/counts.h"
#include "serve/watch.h"
#include "store/store.h"

struct loader;

/* All of it outlives the loader. */
struct loader_options {
	struct log *log;
	int log_dir; /* a descriptor of the log's directory */
	struct store *store;
	struct counts *counts;
	uint64_t min_free_bytes;	/* of the disk; with less, the counts say that it is full */
	void (*warn)(const char *text); /* tells a new failure, in the loader's thread; or NULL */
	struct senders *senders;	/* who learn what they call themselves; NULL: nobody does */
	struct claims *claims;		/* NULL: nobody joins spans with threads */
	uint64_t from_position;		/* entries before it are of runs with other connections */
	struct span_watch watches[WATCHES_MAX]; /* ends with one that is all zero */
};

/*
 * After a failure of the store the loader tries again each second. If the same entries fail
 * several times, each is committed alone. One that fails alone is copied to the file refused-N in
 * the log's directory and passed over, where N is its position, unless the disk or the whole store
 * is at fault.
 */
int loader_start(const struct loader_options *options, struct loader **out);

/* Tells the loader that more of the log is synced. */
void loader_wake(struct loader *l);

/*
 * Stores what is synced, for at most two seconds, and ends. The log keeps the rest. NULL is
 * allowed.
 */
void loader_stop(struct loader *l);

#endif
