/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool file_name(char *buf, size_t size, const struct file_ref *file)
{
	static const char *const anonymous[] = {
		[FILE_KIND_eventfd] = "[eventfd]",   [FILE_KIND_timerfd] = "[timerfd]",
		[FILE_KIND_signalfd] = "[signalfd]", [FILE_KIND_epoll] = "[eventpoll]",
		[FILE_KIND_inotify] = "inotify",     [FILE_KIND_pidfd] = "[pidfd]",
		[FILE_KIND_io_uring] = "[io_uring]", [FILE_KIND_fanotify] = "[fanotify]",
	};

	switch (file->kind) {
	case FILE_KIND_pipe:
		snprintf(buf, size, "pipe:[%" PRIu64 "]", (uint64_t)file->key);
		return true;
	case FILE_KIND_tcp:
	case FILE_KIND_udp:
	case FILE_KIND_unix:
	case FILE_KIND_netlink:
	case FILE_KIND_socket_other:
		snprintf(buf, size, "socket:[%" PRIu64 "]", (uint64_t)file->key);
		return true;
	}
	if (file->kind >= sizeof(anonymous) / sizeof(anonymous[0]) || !anonymous[file->kind])
		return false;
	snprintf(buf, size, "anon_inode:%s", anonymous[file->kind]);
	return true;
}

bool file_path_may_fold(const char *path)
{
	const char *at = strchr(path, '/');

	while (at && at[1] != '/' && at[1] != '.')
		at = strchr(at + 1, '/');
	return at;
}

void file_path_fold(char *path)
{
	bool absolute = path[0] == '/';
	char *to = path;

	for (const char *from = path; *from;) {
		if (from[0] == '/' && from[1] == '/')
			from++;
		else if (from[0] == '/' && from[1] == '.' && (from[2] == '/' || !from[2]))
			from += 2;
		else
			*to++ = *from++;
	}
	if (to == path && absolute)
		*to++ = '/';
	*to = '\0';
}
