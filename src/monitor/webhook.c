/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "monitor/action.h"
#include "monitor/curl.h"

/* The answer is not read. */
static size_t answer_drop(const char *data, size_t size, size_t count, void *arg)
{
	return size * count;
}

static int progress(void *arg, int64_t down_all, int64_t down, int64_t up_all, int64_t up)
{
	return atomic_load((const atomic_bool *)arg);
}

/* NULL: the memory ran out. */
static struct curl_words *headers_make(const struct curl *c, const struct monitor_action *action)
{
	struct curl_words *list = c->slist_append(NULL, "Content-Type: application/json"), *more;

	for (unsigned int i = 0; i < action->headers_count && list; i++) {
		more = c->slist_append(list, action->headers[i]);
		if (!more)
			c->slist_free_all(list);
		list = more;
	}
	return list;
}

static void options_set(const struct curl *c, curl_handle handle, const struct acting *acting,
			char error[CURL_ERROR_BYTES])
{
	c->easy_setopt(handle, CURL_URL, acting->action->url);
	c->easy_setopt(handle, CURL_PROTOCOLS, CURL_HTTP_AND_HTTPS);
	c->easy_setopt(handle, CURL_FOLLOW_LOCATION, 0L);
	c->easy_setopt(handle, CURL_NO_SIGNAL, 1L);
	c->easy_setopt(handle, CURL_TIMEOUT_MS, (long)(acting->action->timeout_ns / 1000000));
	c->easy_setopt(handle, CURL_USER_AGENT, "fathom");
	c->easy_setopt(handle, CURL_POST_FIELDS, acting->payload);
	c->easy_setopt(handle, CURL_POST_BYTES, (long)strlen(acting->payload));
	c->easy_setopt(handle, CURL_WRITE, answer_drop);
	c->easy_setopt(handle, CURL_NO_PROGRESS, 0L);
	c->easy_setopt(handle, CURL_PROGRESS, progress);
	c->easy_setopt(handle, CURL_PROGRESS_ARG, (void *)acting->stop);
	c->easy_setopt(handle, CURL_ERROR_BUFFER, error);
}

/* 0, whatever was answered; or -EIO, -ENOMEM or -ECANCELED. */
static int perform(const struct curl *c, curl_handle handle, const struct acting *acting,
		   char error[CURL_ERROR_BYTES])
{
	struct curl_words *headers = headers_make(c, acting->action);
	int status;

	if (!headers)
		return -ENOMEM;
	options_set(c, handle, acting, error);
	c->easy_setopt(handle, CURL_HEADERS, headers);
	status = c->easy_perform(handle);
	c->slist_free_all(headers);
	if (status && !*error)
		snprintf(error, CURL_ERROR_BYTES, "%s", c->easy_strerror(status));
	return !status ? 0 : status == CURL_ABORTED ? -ECANCELED : -EIO;
}

static int code_judge(long code, char why[ACTION_WHY_BYTES])
{
	if (code >= 200 && code < 300)
		return 0;
	if (code >= 300 && code < 400)
		snprintf(why, ACTION_WHY_BYTES, "it answers %ld: redirects are not followed", code);
	else
		snprintf(why, ACTION_WHY_BYTES, "it answers %ld", code);
	return -EREMOTEIO;
}

int action_webhook(const struct acting *acting, char why[ACTION_WHY_BYTES])
{
	char error[CURL_ERROR_BYTES] = ""; /* outlives the handle, which may write it */
	const struct curl *c = curl_open();
	curl_handle handle = c ? c->easy_init() : NULL;
	long code = 0;
	int err;

	if (!handle) {
		snprintf(why, ACTION_WHY_BYTES, "webhooks need libcurl.so.4: install libcurl4");
		return -ELIBACC;
	}
	err = perform(c, handle, acting, error);
	c->easy_getinfo(handle, CURL_RESPONSE_CODE, &code);
	if (err)
		snprintf(why, ACTION_WHY_BYTES, "%s", *error ? error : "there is no memory for it");
	c->easy_cleanup(handle);
	return err ? err : code_judge(code, why);
}
