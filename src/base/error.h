/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of causes: from the failed operation to the reason.
 *
 * A library that fails returns a negative errno and adds a text that says what it
 * was doing. Each caller puts its own context in front. The command prints the
 * chain once: "cannot read chunk x: cannot open x/manifest: Permission denied".
 *
 * An error is a plain value: it starts as all zero, and nothing needs to be freed.
 * Two threads must not use one error at once.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#define ERROR_TEXT_BYTES 1024

struct error {
	int err;		     /* positive errno of the first cause; 0: nothing failed */
	bool misuse;		     /* error_misuse() is in the chain */
	char text[ERROR_TEXT_BYTES]; /* the chain, always NUL-terminated */
};

/*
 * Puts a context in front of the chain. If the chain is empty, appends the meaning of
 * `err` (its strerror), so that the reason is never lost. `err` may have either sign;
 * `e` may be NULL. Keeps errno. Returns -|err|.
 */
int error_set(struct error *e, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for a text that contains the reason: nothing is appended.
 */
int error_say(struct error *e, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same where options were chosen that do not fit each other or what is read, so that another
 * choice is needed. Returns -EINVAL.
 */
int error_misuse(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Appends advice to the chain: "...; record something first". Does nothing if the chain is empty.
 * Keeps errno.
 */
void error_hint(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Empties the chain. */
void error_clear(struct error *e);

/* True if something failed. */
static inline bool error_is_set(const struct error *e)
{
	return e && e->err != 0;
}

/*
 * The name of an errno ("ENOENT") of either sign, NULL if there is none.
 * Static memory.
 */
const char *error_name(int err);

#endif
