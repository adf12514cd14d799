/* SPDX-License-Identifier: Apache-2.0 */
/* The loader: a thread that stores what the log has, and trusts nothing of it. */
#ifndef SERVE_LOADER_H
#define SERVE_LOADER_H

#include "log/log.h"
#include "serve/counts.h"
#include "store/store.h"

struct loader;

/* `log_dir` is a descriptor of the log's directory, which stays the caller's. */
int loader_start(struct log *log, int log_dir, struct store *store, struct counts *counts,
		 struct loader **out);

/* Tells the loader that more of the log is synced. */
void loader_wake(struct loader *l);

/* Stores what is synced, and ends. NULL is allowed. */
void loader_stop(struct loader *l);

#endif
