/* SPDX-License-Identifier: Apache-2.0 */
#include "up/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "up/place.h"

#define PATIENCE_S 5

static int connect_to(const char *dir)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, err = 0;

	if (at < 0)
		return -errno;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		err = -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" UP_SOCKET, at);
	if (!err)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!err && connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	close(at);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int all_read(int fd, struct bytes *to)
{
	char piece[4096];
	ssize_t n;

	do {
		n = recv(fd, piece, sizeof(piece), 0);
		if (n > 0)
			bytes_put(to, piece, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : to->failed ? -ENOMEM : to->count ? 0 : -ECONNRESET;
}

int up_ask(const char *dir, struct bytes *document, struct error *e)
{
	int fd = connect_to(dir), err;

	if (fd == -ENOENT || fd == -ECONNREFUSED || fd == -ENOTDIR)
		return error_say(e, ENOENT, "no 'fathom up' runs in %s", dir);
	if (fd == -EACCES || fd == -EPERM)
		return error_say(e, EACCES,
				 "the 'fathom up' in %s answers root and its own user only", dir);
	if (fd < 0)
		return error_set(e, fd, "cannot ask the 'fathom up' in %s", dir);
	err = all_read(fd, document);
	close(fd);
	return err ? error_set(e, err, "the 'fathom up' in %s does not answer", dir) : 0;
}
