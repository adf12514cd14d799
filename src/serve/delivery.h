/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delivery is a request that brings spans, in whatever protocol it comes: its body is taken as it
 * arrives, checked when it is whole, and appended to the log. It is acknowledged when the log is
 * synced behind it.
 */
#ifndef SERVE_DELIVERY_H
#define SERVE_DELIVERY_H

#include <pthread.h>
#include <stdatomic.h>

#include "log/log.h"
#include "serve/access.h"
#include "serve/body.h"
#include "serve/counts.h"
#include "serve/intake.h"
#include "serve/loader.h"
#include "serve/senders.h"
#include "serve/serve.h"

/* The time of a request in seconds, at least one. */
static inline unsigned int limits_seconds(const struct receive_limits *limits)
{
	uint64_t seconds = limits->request_ns / 1000000000;

	return seconds ? (unsigned int)seconds : 1;
}

/* Where deliveries go, and what all receivers share. All of it outlives the receivers. */
struct destination {
	struct log *log;
	struct loader *loader; /* NULL: nobody reads the log */
	struct counts *counts;
	const struct access *access; /* who may send */
	const struct receive_limits *limits;
	struct senders *senders;      /* NULL: nobody is told who sends */
	atomic_size_t *pending_bytes; /* memory that all requests under way use now */
};

/* The deliveries of one receiver. */
struct inbox {
	struct destination to;
	pthread_mutex_t appending; /* for `entry` */
	struct bytes entry;
};

void inbox_init(struct inbox *inbox, const struct destination *to);
void inbox_free(struct inbox *inbox);

struct delivery {
	struct inbox *inbox;
	const struct intake *intake;
	struct body body;
	size_t counted; /* of the memory that it takes, in pending_bytes */
	struct intake_counts spans;
	uint16_t connection; /* its number (serve/senders.h); 0: not known */
	uint64_t end;	     /* of its entry in the log; 0: it has none */
	/* 0, or the HTTP status of a request that is refused; what it still brings is passed over
	 */
	unsigned int status;
	int code; /* of google.rpc.Status */
	char why[256];
};

/* Until delivery_drop() frees the body. A delivery may be refused before. */
void delivery_begin(struct delivery *d, struct inbox *inbox, const struct intake *intake,
		    bool is_gzip);

/* Only the first refusal counts. */
void delivery_refuse(struct delivery *d, unsigned int status, int code, const char *why);

/* Refuses what is beyond the limit of a body, and says what the limit is. */
void delivery_too_large(struct delivery *d);

/* Takes the next piece of the body. */
void delivery_add(struct delivery *d, const void *data, size_t bytes);

/*
 * The body is whole: checks it, appends it to the log unless it is refused or has no span to keep,
 * and frees it. Where `end` is not 0 then, the log must be synced up to there.
 */
void delivery_finish(struct delivery *d);

/* The outcome of log_sync(). */
void delivery_synced(struct delivery *d, int err);

/* Counts the outcome, and writes the body of the answer, which may fail for want of memory. */
void delivery_answer(struct delivery *d, struct bytes *body);

void delivery_drop(struct delivery *d);

#endif
