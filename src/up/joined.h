/* SPDX-License-Identifier: Apache-2.0 */
/* How it is known which thread had a received span, or why it is not: `fathom.join`. */
#ifndef UP_JOINED_H
#define UP_JOINED_H

/* J(name, value, text, key): `key` is that of its count in the status */
#define JOINED_KINDS(J)                                                                            \
	/* the program publishes it */                                                             \
	J(CONTEXT, 0, "context", "context")                                                        \
	/* the span names its thread */                                                            \
	J(THREAD, 1, "thread", "thread")                                                           \
	/* one thread of the process that it names worked then */                                  \
	J(PROCESS, 2, "process", "process")                                                        \
	/* the same, of the process that sent it */                                                \
	J(CONNECTION, 3, "connection", "connection")                                               \
	/* several threads worked, or several spans had one */                                     \
	J(AMBIGUOUS, 4, "ambiguous", "ambiguous")                                                  \
	/* nothing was recorded then, or the span came too late */                                 \
	J(NO_CHUNK, 5, "no chunk", "no_chunk")                                                     \
	/* no thread of that process worked then */                                                \
	J(NO_THREAD, 6, "no thread", "no_thread")                                                  \
	/* there were too many */                                                                  \
	J(LEFT_OUT, 7, "left out", "left_out")

enum joined {
#define J(name, value, text, key) JOINED_##name = value,
	JOINED_KINDS(J)
#undef J
		JOINED_COUNT = 8
};

/* "context", ...; static. */
static inline const char *joined_name(enum joined joined)
{
	static const char *const names[JOINED_COUNT] = {
#define J(name, value, text, key) [value] = text,
		JOINED_KINDS(J)
#undef J
	};

	return names[joined];
}

/* "no_chunk", ...; static. */
static inline const char *joined_key(enum joined joined)
{
	static const char *const keys[JOINED_COUNT] = {
#define J(name, value, text, key) [value] = key,
		JOINED_KINDS(J)
#undef J
	};

	return keys[joined];
}

#endif
