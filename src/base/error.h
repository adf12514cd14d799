/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of causes, from what was wanted to why it failed.
 *
 * A library that fails returns a negative errno and adds what it was doing;
 * each caller on the way up puts its own context in front. The command prints
 * the chain once: "cannot read chunk x: cannot open x/manifest: Permission denied".
 *
 * An error is a plain value: start with all zero, nothing to free. It must not
 * be used by two threads at once.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>

#define ERROR_TEXT_BYTES 1024

struct error {
	int err;		     /* positive errno of the first cause; 0: nothing failed */
	char text[ERROR_TEXT_BYTES]; /* the chain, always NUL-terminated */
};

/*
 * Puts a context in front of the chain. On an empty chain the meaning of
 * `err` (its strerror) is put behind it, so that the reason is never lost.
 * `err` may have either sign; `e` may be NULL. Keeps errno. Returns -|err|.
 */
int error_set(struct error *e, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for a text that already says why: nothing is put behind it.
 */
int error_say(struct error *e, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts what to do about it behind the chain: "...; record something first". Nothing on an empty
 * chain. Keeps errno.
 */
void error_hint(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forgets everything. */
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
