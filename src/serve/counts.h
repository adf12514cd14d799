/* SPDX-License-Identifier: Apache-2.0 */
/* What happened so far, counted where it happens, by any thread. */
#ifndef SERVE_COUNTS_H
#define SERVE_COUNTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "log/log.h"

struct counts {
	atomic_uint_fast64_t requests_accepted;
	atomic_uint_fast64_t requests_refused;
	atomic_uint_fast64_t spans_accepted; /* acknowledged */
	atomic_uint_fast64_t spans_rejected; /* without an id, in requests that were accepted */
	atomic_uint_fast64_t spans_stored;
	atomic_uint_fast64_t entries_bad;     /* of the log, that cannot be decoded */
	atomic_uint_fast64_t log_lost_bytes;  /* that the loader found damaged */
	atomic_uint_fast64_t store_failures;  /* after which the loader tried again */
	atomic_uint_fast64_t entries_refused; /* by the store, and kept beside the log */
	atomic_bool is_full; /* there is too little room on the disk: no spans are taken */
	pthread_mutex_t lock;
	char store_error[ERROR_TEXT_BYTES]; /* with the lock: why the store failed; "": it works */
};

/* Copies why the store failed. */
void counts_store_error(struct counts *counts, char text[ERROR_TEXT_BYTES]);

/* The state of a server, as serve_status() tells it, where `position` of the log is stored. */
const char *counts_state(const struct counts *counts, const struct log_status *log,
			 uint64_t position, bool store_failed);

#endif
