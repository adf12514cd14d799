/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of libcurl that webhooks need. The library is opened with the first webhook, so that
 * nothing else loads it, and building needs no headers of it. Its numbers and functions are stable
 * since libcurl 7.62, whose soname is libcurl.so.4.
 */
#ifndef MONITOR_CURL_H
#define MONITOR_CURL_H

#include <stddef.h>
#include <stdint.h>

typedef struct curl_handle *curl_handle;
struct curl_words;

enum curl_option {
	CURL_URL = 10002,
	CURL_ERROR_BUFFER = 10010, /* of CURL_ERROR_BYTES */
	CURL_POST_FIELDS = 10015,
	CURL_USER_AGENT = 10018,
	CURL_HEADERS = 10023,
	CURL_PROGRESS_ARG = 10057,
	CURL_NO_PROGRESS = 43,
	CURL_FOLLOW_LOCATION = 52,
	CURL_POST_BYTES = 60,
	CURL_NO_SIGNAL = 99,
	CURL_TIMEOUT_MS = 155,
	CURL_PROTOCOLS = 181,
	CURL_WRITE = 20011,
	CURL_PROGRESS = 20219,
};

#define CURL_HTTP_AND_HTTPS 3L
#define CURL_RESPONSE_CODE 0x200002
#define CURL_ERROR_BYTES 256
#define CURL_GLOBAL_ALL 3L
#define CURL_ABORTED 42

struct curl {
	void *library; /* NULL: it is not open */
	int (*global_init)(long flags);
	curl_handle (*easy_init)(void);
	int (*easy_setopt)(curl_handle, int option, ...);
	int (*easy_perform)(curl_handle);
	int (*easy_getinfo)(curl_handle, int info, ...);
	void (*easy_cleanup)(curl_handle);
	const char *(*easy_strerror)(int);
	struct curl_words *(*slist_append)(struct curl_words *, const char *);
	void (*slist_free_all)(struct curl_words *);
};

/* The library, opened if it is not. NULL: it cannot be. One thread calls it. */
const struct curl *curl_open(void);

#endif
