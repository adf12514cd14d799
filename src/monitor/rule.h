/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule of a monitor. A rule is given as texts by key, in a file or through the API, and is kept
 * and shown as these texts.
 *
 *   service      whose spans are watched
 *   operation    of the service; without it, all of them
 *   to           the service that is called: the calls from `service` to it are watched
 *   kind         server, client, internal, producer or consumer; without it, spans of all kinds
 *   value        what is watched (measure.h), such as p99
 *   above        an alert beyond this value; or below
 *   warn         a warning beyond this value
 *   over         how much time a value is of: 5m
 *   min-count    with fewer spans that were seen nothing is known: 20, of a rate 0
 *   hysteresis   how far beyond a threshold the value must go back: 10%
 *   notify       actions, separated by commas
 *   mute         yes: changes are told to nobody
 */
#ifndef MONITOR_RULE_H
#define MONITOR_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "monitor/measure.h"

#define MONITOR_NAME_BYTES 64
#define MONITOR_TEXT_BYTES 256
#define MONITOR_TOO_LONG "'%s' is too long: shorten it to %zu bytes"
#define MONITOR_ACTIONS_MAX 8 /* of a rule */

#define RULE_KEYS(K)                                                                               \
	K(service, "service")                                                                      \
	K(operation, "operation")                                                                  \
	K(to, "to")                                                                                \
	K(kind, "kind")                                                                            \
	K(value, "value")                                                                          \
	K(above, "above")                                                                          \
	K(below, "below")                                                                          \
	K(warn, "warn")                                                                            \
	K(over, "over")                                                                            \
	K(min_count, "min-count")                                                                  \
	K(hysteresis, "hysteresis")                                                                \
	K(notify, "notify")                                                                        \
	K(mute, "mute")

enum rule_key {
#define K(name, text) RULE_##name,
	RULE_KEYS(K)
#undef K
		RULE_KEYS_COUNT
};

struct monitor_rule {
	char name[MONITOR_NAME_BYTES];
	char texts[RULE_KEYS_COUNT][MONITOR_TEXT_BYTES]; /* "": not set */
	/* read of the texts by monitor_rule_finish(): */
	struct measure measure;
	int kind;   /* enum received_kind; < 0: any */
	bool below; /* the thresholds are lower bounds */
	double alert, warn;
	bool has_warn;
	double hysteresis; /* 0 to 0.9 */
	uint64_t over_ns, min_count;
	char notify[MONITOR_ACTIONS_MAX][MONITOR_NAME_BYTES];
	unsigned int notify_count;
	bool muted;
};

/*
 * A name has letters, digits, blanks and the like, and no control characters. It is a part of an
 * address: it has no slash, and is neither "." nor "..". 0 or -EINVAL.
 */
int monitor_name_check(const char *name, struct error *e);

/* The key of a text, with "-" or "_"; RULE_KEYS_COUNT: there is none. */
enum rule_key rule_key_find(const char *text);
const char *rule_key_text(enum rule_key key);

/* Sets a text. 0, or -EINVAL: it is too long, or has control characters. */
int monitor_rule_set(struct monitor_rule *rule, enum rule_key key, const char *text,
		     struct error *e);

/* Reads the texts. 0, or -EINVAL with what is wrong. Then only the texts are changed. */
int monitor_rule_finish(struct monitor_rule *rule, struct error *e);

#define MONITOR_OF_BYTES (3 * MONITOR_TEXT_BYTES)

/* What is watched, for people: "p99 of shop GET /cart". Returns `text`. */
char *monitor_rule_of(const struct monitor_rule *rule, char text[MONITOR_OF_BYTES]);

#endif
