/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/page.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve/answer.h"

#define INDEX "index.html"

struct page {
	int dir;
	char base[64];
};

/* Browsers are told to guess no type. */
static const struct {
	const char *suffix, *type;
} types[] = {{".html", "text/html; charset=utf-8"},
	     {".js", "text/javascript; charset=utf-8"},
	     {".mjs", "text/javascript; charset=utf-8"},
	     {".css", "text/css; charset=utf-8"},
	     {".json", "application/json"},
	     {".map", "application/json"},
	     {".webmanifest", "application/manifest+json"},
	     {".svg", "image/svg+xml"},
	     {".png", "image/png"},
	     {".jpg", "image/jpeg"},
	     {".gif", "image/gif"},
	     {".ico", "image/x-icon"},
	     {".woff", "font/woff"},
	     {".woff2", "font/woff2"},
	     {".ttf", "font/ttf"},
	     {".wasm", "application/wasm"},
	     {".txt", "text/plain; charset=utf-8"}};

static const char *type_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++) {
		if (strcasecmp(dot, types[i].suffix) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}

/* Opens a regular file below the directory, and nowhere else. */
static int file_open(const struct page *f, const char *path, struct stat *status)
{
	const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, f->dir, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	if (fstat(fd, status) || !S_ISREG(status->st_mode)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

int page_open(const char *dir, const char *base, struct page **out, struct error *e)
{
	struct page *f = calloc(1, sizeof(*f));
	struct stat status;
	int fd, err = 0;

	if (!f)
		return error_set(e, ENOMEM, "cannot serve %s", dir);
	snprintf(f->base, sizeof(f->base), "%s", base);
	f->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = f->dir < 0 ? -errno : file_open(f, INDEX, &status);
	if (f->dir < 0)
		err = error_set(e, -fd, "cannot open %s", dir);
	else if (fd < 0)
		err = error_say(e, -fd, "%s has no %s that can be read: it is no built page", dir,
				INDEX);
	if (fd >= 0)
		close(fd);
	if (err) {
		page_close(f);
		return err;
	}
	*out = f;
	return 0;
}

void page_close(struct page *f)
{
	if (!f)
		return;
	if (f->dir >= 0)
		close(f->dir);
	free(f);
}

static enum MHD_Result file_send(struct MHD_Connection *connection, int fd,
				 const struct stat *status, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)status->st_size,
								      fd);
	enum MHD_Result result;

	if (!response) {
		close(fd);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result redirect(struct MHD_Connection *connection, const char *path)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(0, NULL,
									MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Location", path);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	result = MHD_queue_response(connection, MHD_HTTP_FOUND, response);
	MHD_destroy_response(response);
	return result;
}

/* Whether a path without a file may be a place within the page: it names no file and no API. */
static bool is_place(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(path, "api/", 4) != 0 && !strchr(slash ? slash : path, '.');
}

enum MHD_Result page_answer(const struct page *f, struct MHD_Connection *connection,
			    const char *path)
{
	size_t base = strlen(f->base);
	struct stat status;
	int fd;

	if (strcmp(path, "/") == 0 && base > 1)
		return redirect(connection, f->base);
	if (strlen(path) == base - 1 && strncmp(path, f->base, base - 1) == 0 && base > 1)
		return redirect(connection, f->base);
	if (strncmp(path, f->base, base) != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is no such path");
	path += base;
	fd = file_open(f, *path ? path : INDEX, &status);
	if (fd < 0 && is_place(path)) {
		path = INDEX;
		fd = file_open(f, path, &status);
	}
	if (fd < 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is no such file");
	return file_send(connection, fd, &status, type_of(*path ? path : INDEX));
}
