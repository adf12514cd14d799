/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RETRY_AFTER "5" /* seconds */
#define ALLOWED "GET, HEAD"

/* Memory of an answer until it is sent. */
struct sending {
	unsigned char *data;
	size_t bytes;
	struct quota *quota;
};

static void sending_free(void *arg)
{
	struct sending *s = arg;

	quota_give(s->quota, s->bytes);
	free(s->data);
	free(s);
}

/* A response that has the body; NULL: out of memory. The body is empty then in any case. */
static struct MHD_Response *response_make(struct bytes *body, struct quota *quota)
{
	struct sending *s = calloc(1, sizeof(*s));
	struct MHD_Response *response;
	size_t count = body->count;

	if (!s) {
		quota_give(quota, body->capacity);
		bytes_free(body);
		return NULL;
	}
	*s = (struct sending){body->data, body->capacity, quota};
	*body = (struct bytes){0};
	response = MHD_create_response_from_buffer_with_free_callback_cls(count, s->data,
									  sending_free, s);
	if (!response)
		sending_free(s);
	return response;
}

static enum MHD_Result response_queue(struct MHD_Connection *connection, const struct document *d,
				      const char *allowed)
{
	struct MHD_Response *response = response_make(d->body, d->quota);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", d->type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (d->status == MHD_HTTP_TOO_MANY_REQUESTS || d->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, "Retry-After", RETRY_AFTER);
	if (d->status == MHD_HTTP_BAD_REQUEST)
		MHD_add_response_header(response, "Connection", "close");
	if (d->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (d->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", allowed);
	result = MHD_queue_response(connection, d->status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result answer_send(struct MHD_Connection *connection, unsigned int status,
			    const char *type, struct bytes *body)
{
	return response_queue(connection,
			      &(struct document){.status = status, .type = type, .body = body},
			      "POST");
}

enum MHD_Result answer_stream(struct MHD_Connection *connection, unsigned int status,
			      struct MHD_Response *response)
{
	enum MHD_Result result;

	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
			    const char *text)
{
	struct bytes body = {0};

	bytes_put(&body, text, strlen(text));
	bytes_put_u8(&body, '\n');
	if (body.failed)
		bytes_free(&body);
	return response_queue(connection,
			      &(struct document){.status = status,
						 .type = "text/plain; charset=utf-8",
						 .body = &body},
			      ALLOWED);
}

int own_error_write(struct bytes *body, const char *why)
{
	struct json j;

	json_init_bytes(&j, body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_string(&j, "error", why);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : 0;
}

enum MHD_Result answer_error(struct MHD_Connection *connection, bool is_own, unsigned int status,
			     const char *why)
{
	struct bytes body = {0};

	if (!is_own)
		return answer_text(connection, status, why);
	if (own_error_write(&body, why))
		bytes_free(&body);
	return response_queue(
		connection,
		&(struct document){.status = status, .type = "application/json", .body = &body},
		ALLOWED);
}

enum MHD_Result answer_document(struct MHD_Connection *connection, const struct document *document)
{
	if (quota_take(document->quota, document->body->capacity))
		return response_queue(connection, document, ALLOWED);
	bytes_free(document->body);
	return answer_error(connection, document->is_own, MHD_HTTP_SERVICE_UNAVAILABLE,
			    "other answers take the memory for answers: try again");
}

const char *request_header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const struct sockaddr *request_client(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info ? info->client_addr : NULL;
}

static enum MHD_Result length_count(void *arg, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	unsigned int *count = arg;

	*count += strcasecmp(name, "Content-Length") == 0 ||
		  strcasecmp(name, "Transfer-Encoding") == 0;
	return MHD_YES;
}

/* Whether a request says more than once how long it is: others may see its end elsewhere. */
static bool is_ambiguous(struct MHD_Connection *connection)
{
	unsigned int count = 0;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, length_count, &count);
	return count > 1;
}

unsigned int request_refused(struct MHD_Connection *connection, const struct access *access,
			     bool receives, const char **why)
{
	const char *site = request_header(connection, "Sec-Fetch-Site");

	if (is_ambiguous(connection)) {
		*why = "the request says more than once how long it is";
		return MHD_HTTP_BAD_REQUEST;
	}
	if (!access_host(access, request_header(connection, "Host")) ||
	    !access_origin(access, request_header(connection, "Origin")) ||
	    (site && strcasecmp(site, "cross-site") == 0)) {
		*why = ACCESS_FOREIGN;
		return MHD_HTTP_FORBIDDEN;
	}
	if (access_needs_token(access, request_client(connection), receives) &&
	    !access_token(access, request_header(connection, "Authorization"))) {
		*why = ACCESS_TOKENLESS;
		return MHD_HTTP_UNAUTHORIZED;
	}
	return 0;
}
