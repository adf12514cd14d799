/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a library tells its caller something beside its result, as that a chunk is damaged. A library
 * never prints: the caller decides where a notice goes.
 */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

struct notice {
	/*
	 * Takes one line of text without a newline, which it may keep only as a copy. NULL: nobody
	 * listens. It is called by the thread that called the library.
	 */
	void (*tell)(void *arg, const char *line);
	void *arg;
};

/* Formats a line of at most 1,023 bytes and tells it, if somebody listens. */
__attribute__((format(printf, 2, 3))) void notice_tell(const struct notice *notice,
						       const char *format, ...);

#endif
