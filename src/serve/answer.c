/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define RETRY_AFTER "5" /* seconds */
#define DOCUMENT_BYTES_MAX ((size_t)256 << 20)

static int bytes_append(void *arg, const char *data, size_t bytes)
{
	struct bytes *to = arg;

	if (bytes > DOCUMENT_BYTES_MAX - to->count)
		return -ENOMEM;
	bytes_put(to, data, bytes);
	return to->failed ? -ENOMEM : 0;
}

void json_init_bytes(struct json *j, struct bytes *to)
{
	const struct json_sink sink = {bytes_append, to};

	json_init(j, &sink);
}

static enum MHD_Result response_queue(struct MHD_Connection *connection, unsigned int status,
				      const char *type, struct bytes *body, const char *allowed)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	response = MHD_create_response_from_buffer(body->count, body->count ? body->data : NULL,
						   body->count ? MHD_RESPMEM_MUST_FREE
							       : MHD_RESPMEM_PERSISTENT);
	if (!response) {
		bytes_free(body);
		return MHD_NO;
	}
	if (!body->count)
		bytes_free(body);
	*body = (struct bytes){0};
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, "Retry-After", RETRY_AFTER);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", allowed);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result answer_send(struct MHD_Connection *connection, unsigned int status,
			    const char *type, struct bytes *body)
{
	return response_queue(connection, status, type, body, "POST");
}

enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
			    const char *text)
{
	struct bytes body = {0};

	bytes_put(&body, text, strlen(text));
	bytes_put_u8(&body, '\n');
	if (body.failed)
		bytes_free(&body);
	return response_queue(connection, status, "text/plain; charset=utf-8", &body, "GET, HEAD");
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

unsigned int request_refused(struct MHD_Connection *connection, const struct access *access,
			     bool receives, const char **why)
{
	const char *site = request_header(connection, "Sec-Fetch-Site");

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
