/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/utf8.h"
#include "serve/answer.h"
#include "serve/deadline.h"
#include "serve/delivery.h"
#include "serve/join.h"
#include "serve/page_first.h"
#include "serve/route.h"

#define THREADS 4
#define JSON_TYPE "application/json"

struct api {
	struct MHD_Daemon *daemon;
	struct deadline *deadline;
	struct route_set routes;
};

const char *query_value(const struct query *q, const char *name)
{
	const char *value = MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);

	return value && *value ? value : NULL;
}

bool trace_id_parse(const char *text, struct trace_id *id)
{
	size_t digits = strlen(text);

	if (digits < 1 || digits > 32 || strspn(text, "0123456789abcdefABCDEF") != digits)
		return false;
	*id = (struct trace_id){0};
	for (; *text; text++) {
		uint64_t digit = (uint64_t)(*text <= '9' ? *text - '0' : (*text | 32) - 'a' + 10);

		id->high = id->high << 4 | id->low >> 60;
		id->low = id->low << 4 | digit;
	}
	return true;
}

void trace_id_text(char text[TRACE_ID_BYTES], struct trace_id id)
{
	snprintf(text, TRACE_ID_BYTES, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
}

void span_id_text(char text[SPAN_ID_BYTES], uint64_t id)
{
	snprintf(text, SPAN_ID_BYTES, "%016" PRIx64, id);
}

/* Whether a query wants spans as applications sent them. */
static bool is_plain(struct query *q)
{
	const char *fathom = query_value(q, "fathom");

	return fathom ? strcmp(fathom, "0") == 0 : q->source->is_plain && !q->is_own;
}

int traces_joined(struct query *q, const struct store_ids *ids, struct received_batch *out)
{
	int err = store_find(q->source->store, ids, q->pool, out, q->e);

	if (err)
		return err;
	return is_plain(q) ? spans_strip(out, q->pool) : spans_join(out, q->pool);
}

int trace_find(struct query *q, struct trace_id id, struct received_batch *out)
{
	const struct store_ids ids = {&id, 1, 1};
	const char *kernel = query_value(q, "kernel");
	const struct serve_more *more = q->source->more;
	int err = traces_joined(q, &ids, out);

	q->kernel = "none";
	if (err || !out->count || is_plain(q) || (kernel && strcmp(kernel, "0") == 0))
		return err ? err : out->count ? 0 : -ENOENT;
	q->kernel = "all";
	if (kernel && strcmp(kernel, "all") == 0 && more && more->kernel) {
		err = more->kernel(more->arg, out, q->pool, q->e);
		if (!err || err == -ENOMEM)
			return err;
	}
	q->kernel = "stored"; /* or the chunks are gone */
	return store_find_kernel(q->source->store, &ids, q->pool, out, q->e);
}

/* Whether a path is that of a route; `word` gets what "*" stands for, which may have slashes. */
static bool path_matches(const char *route, const char *path, char *word, size_t size)
{
	const char *star = strchr(route, '*');
	size_t before = star ? (size_t)(star - route) : 0, length;

	if (!star)
		return strcmp(route, path) == 0;
	if (strncmp(route, path, before) != 0)
		return false;
	path += before;
	length = strlen(path);
	if (length <= strlen(star + 1) || length - strlen(star + 1) >= size)
		return false;
	length -= strlen(star + 1);
	if (strcmp(path + length, star + 1) != 0)
		return false;
	memcpy(word, path, length);
	word[length] = '\0';
	return true;
}

static const struct route *route_find(const struct route_set *routes, const char *path, char *word,
				      size_t size)
{
	for (size_t i = 0; routes->tables[i]; i++) {
		for (const struct route *route = routes->tables[i]; route->path; route++) {
			if (path_matches(route->path, path, word, size))
				return route;
		}
	}
	return NULL;
}

/* Whether a path is of fathom's own API, whose errors are JSON. */
static bool is_own(const struct route_set *routes, const char *path)
{
	const char *root = routes->own;
	size_t n = root ? strlen(root) : 0;

	return root && strncmp(path, root, n) == 0 && (!path[n] || path[n] == '/');
}

static enum MHD_Result query_answer(const struct api_source *source,
				    struct MHD_Connection *connection, const struct route *route,
				    const struct query *asked)
{
	struct pool pool = {.limit_bytes = ANSWER_BYTES_MAX, .quota = source->spans};
	struct bytes body = {0};
	struct error e = {0};
	struct query q = *asked;
	int status;

	q.connection = connection;
	q.source = source;
	q.pool = &pool;
	q.body = &body;
	q.e = &e;
	status = route->answer(&q);
	pool_free(&pool);
	if (status == QUERY_LATER) {
		bytes_free(&body);
		return MHD_YES;
	}
	if (q.response) {
		bytes_free(&body);
		return answer_stream(connection, (unsigned int)status, q.response);
	}
	if (status > 0 && !body.failed)
		return answer_document(connection,
				       &(struct document){(unsigned int)status,
							  q.type ? q.type : JSON_TYPE, &body,
							  source->answers, q.is_own});
	bytes_free(&body);
	if (status == -ENOMEM || body.failed)
		return answer_error(connection, q.is_own, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "the answer takes too much memory: ask for less");
	return answer_error(connection, q.is_own,
			    status == -ETIMEDOUT ? MHD_HTTP_SERVICE_UNAVAILABLE
						 : MHD_HTTP_INTERNAL_SERVER_ERROR,
			    e.text);
}

/* A status, and why. */
struct refusal {
	unsigned int status;
	const char *why;
};

static bool is_read(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* All others only answer. */
static bool may_change(const struct route *route)
{
	return strcmp(route->path, "/api/v1/pins") == 0 ||
	       strncmp(route->path, "/api/v1/monitors", strlen("/api/v1/monitors")) == 0;
}

static bool type_is_json(const char *type)
{
	size_t n = strlen("application/json");

	return type && strncasecmp(type, "application/json", n) == 0 && strchr("; \t", type[n]);
}

static enum MHD_Result value_check(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	bool *is_text = arg;

	*is_text = utf8_is_clean(key, strlen(key)) &&
		   (!value || utf8_is_clean(value, strlen(value)));
	return *is_text ? MHD_YES : MHD_NO;
}

/* Whether all that a query says is text. The store takes no other. */
static bool query_is_text(struct MHD_Connection *connection, const char *word)
{
	bool is_text = utf8_is_clean(word, strlen(word));

	if (is_text)
		MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, value_check, &is_text);
	return is_text;
}

/* Why a request is not answered, but for who asks; status 0: it is. */
static struct refusal refusal_of(const struct route *route, struct MHD_Connection *connection,
				 const char *method, const struct sent *sent)
{
	if (!is_read(method) && !may_change(route))
		return (struct refusal){MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered here"};
	/* no form of a page has this type */
	if (!is_read(method) && !type_is_json(request_header(connection, "Content-Type")))
		return (struct refusal){MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
					"what changes something has Content-Type: "
					"application/json"};
	if (sent && sent->body.count > SENT_BYTES_MAX)
		return (struct refusal){MHD_HTTP_CONTENT_TOO_LARGE,
					"the body of the request is too large"};
	return (struct refusal){0, NULL};
}

enum MHD_Result routes_answer(const struct route_set *routes, struct MHD_Connection *connection,
			      const char *url, const char *method, struct sent *sent)
{
	const struct page *page = routes->source.page;
	const struct route *route;
	struct refusal refusal;
	unsigned int refused;
	char word[1024] = "";
	const char *why;
	bool own = is_own(routes, url), is_page;

	refused = request_refused(connection, routes->source.access, false, &why);
	route = route_find(routes, url, word, sizeof(word));
	is_page = !route && page && is_read(method) && !own;
	/* whoever lacks the token gets the page, which asks for it */
	if (refused && !(is_page && refused == MHD_HTTP_UNAUTHORIZED && page_is_public(page)))
		return answer_error(connection, own, refused, why);
	if (is_page && !refused && page_is_public(page) && strcmp(url, "/") == 0 &&
	    page_first_answer(page, connection, &routes->source,
			      route_find(routes, "/api/v1/overview", word, sizeof(word))))
		return MHD_YES;
	if (is_page)
		return page_answer(page, connection, url);
	if (!route)
		return answer_error(connection, own, MHD_HTTP_NOT_FOUND,
				    routes->source.pageless && strcmp(url, "/") == 0
					    ? routes->source.pageless
					    : "there is no such path");
	refusal = refusal_of(route, connection, method, sent);
	if (refusal.status)
		return answer_error(connection, own, refusal.status, refusal.why);
	if (!query_is_text(connection, word))
		return answer_error(connection, own, MHD_HTTP_BAD_REQUEST, "the query is no UTF-8");
	return query_answer(
		&routes->source, connection, route,
		&(struct query){.word = word, .method = method, .sent = sent, .is_own = own});
}

static enum MHD_Result query_take(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *bytes, void **state)
{
	struct sent *sent = *state;
	struct api *a = arg;

	if (!sent) {
		*state = calloc(1, sizeof(*sent));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*bytes) { /* a query has none, and nothing needs more */
		if (!is_read(method) && sent->body.count <= SENT_BYTES_MAX)
			bytes_put(&sent->body, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	deadline_end(connection);
	return routes_answer(&a->routes, connection, url, method, sent);
}

static void query_end(void *arg, struct MHD_Connection *connection, void **state,
		      enum MHD_RequestTerminationCode why)
{
	struct sent *sent = *state;

	deadline_begin(connection);
	if (sent)
		bytes_free(&sent->body);
	free(sent);
	*state = NULL;
}

static struct MHD_Daemon *daemon_start(struct api *a, int fd)
{
	const struct receive_limits *limits = a->routes.source.limits;

	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL,
		NULL, query_take, a, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
		THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)limits->connections,
		MHD_OPTION_CONNECTION_TIMEOUT, limits_seconds(limits), MHD_OPTION_NOTIFY_CONNECTION,
		deadline_connection, a->deadline, MHD_OPTION_NOTIFY_COMPLETED, query_end, a,
		MHD_OPTION_END);
}

int api_start(int fd, enum api_kind kind, const struct api_source *source, struct api **out)
{
	static const struct route *const all[] = {own_routes,
						  own_monitor_routes,
						  jaeger_routes,
						  jaeger_v3_routes,
						  jaeger_metrics_routes,
						  metrics_routes,
						  NULL};
	static const struct route *const jaeger[] = {jaeger_routes, jaeger_v3_routes,
						     jaeger_metrics_routes, NULL};
	struct api *a = calloc(1, sizeof(*a));

	int err = a ? deadline_start(source->limits->request_ns, &a->deadline) : -ENOMEM;

	if (err) {
		free(a);
		close(fd);
		return err;
	}
	a->routes = kind == API_JAEGER ? (struct route_set){*source, jaeger, NULL}
				       : (struct route_set){*source, all, "/api/v1"};
	a->daemon = daemon_start(a, fd);
	if (!a->daemon) {
		close(fd);
		api_stop(a);
		return -EIO;
	}
	*out = a;
	return 0;
}

void api_stop(struct api *a)
{
	if (!a)
		return;
	if (a->daemon)
		MHD_stop_daemon(a->daemon);
	deadline_stop(a->deadline);
	free(a);
}
