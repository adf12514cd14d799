/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What monitors keep over a restart: rules of the API, states with their history, and what is still
 * to be told. It is a document in JSON, which is read as hostile input: whoever may write in the
 * directory may have written it.
 */
#ifndef MONITOR_KEPT_H
#define MONITOR_KEPT_H

#include "base/bytes.h"
#include "base/vec.h"
#include "monitor/config.h"
#include "monitor/state.h"

#define TELLING_WHY_BYTES 160
#define TELLING_PAYLOAD_BYTES_MAX 16384
#define TELLINGS_MAX 1000 /* under way; more are given up at once */
#define TELLINGS_FAILED_MAX 50
#define TELLING_FOR_NS UINT64_C(3600000000000) /* it is tried for so long */

struct monitor {
	struct monitor_rule rule;
	struct monitor_status status;
	bool is_of_file; /* of the configuration, not of the API */
	uint64_t number; /* grows with each rule that is made or changed; not kept */
};

/* A change that an action is told of. */
struct telling {
	char monitor[MONITOR_NAME_BYTES], action[MONITOR_NAME_BYTES];
	enum monitor_state state;
	uint64_t at_ns, next_ns; /* of the change; of the next attempt; since 1970 */
	unsigned int attempts;
	bool is_begun;	/* an attempt is under way: after a crash nobody knows whether it arrived */
	bool is_failed; /* for good; it is only shown */
	char why[TELLING_WHY_BYTES]; /* why the last attempt failed */
	char *payload;		     /* owned */
};

/* Start with all zero. */
struct monitors_kept {
	VEC(struct monitor *) monitors; /* owned */
	VEC(struct telling) tellings;	/* the oldest first */
	uint64_t evaluated_ns;		/* since 1970 */
	uint64_t told, failed;		/* tellings that arrived, and that were given up */
	/* monitors that were not read, and the first of them with the reason */
	unsigned int left_out;
	char left_out_why[MONITOR_NAME_BYTES + 64];
};

/* Writes all into a buffer that is empty. 0 or -ENOMEM. */
int monitors_kept_write(const struct monitors_kept *kept, struct bytes *out);

/*
 * Reads what monitors_kept_write() wrote into what is empty. Rules are not finished yet. A monitor
 * that is none is left out. -EPROTO: it is none of that. Free it in any case.
 */
int monitors_kept_read(const void *data, size_t bytes, struct monitors_kept *out);

void monitors_kept_free(struct monitors_kept *kept);
void telling_free(struct telling *t);

/* NULL: there is none. */
struct monitor *monitor_find(const struct monitors_kept *kept, const char *name);

/*
 * Whether an earlier change of the same monitor is still to be told to the same action: whoever is
 * told hears of changes in their order.
 */
bool telling_is_behind(const struct monitors_kept *kept, size_t at);

/* Whether it is to be tried. What waits longer than any wait does so since the clock was set back.
 */
bool telling_is_due(const struct telling *t, uint64_t now_ns);

/* When it is tried again after so many attempts; 0: it is given up. */
uint64_t telling_again_ns(uint64_t at_ns, unsigned int attempts, uint64_t now_ns);

#endif
