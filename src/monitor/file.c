/* SPDX-License-Identifier: Apache-2.0 */
/* The file that monitors keep, and how it joins the configuration. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/internal.h"

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define GAP_NS (3 * MONITORS_STEP_NS)

static int path_make(char path[PATH_MAX], const struct monitors *m, const char *suffix)
{
	int n = snprintf(path, PATH_MAX, "%s/" MONITORS_FILE "%s", m->options.dir, suffix);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int file_write(const char *path, const struct bytes *data, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), err = 0;

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < data->count && !err;) {
		ssize_t n = write(fd, data->data + at, data->count - at);

		if (n < 0 && errno != EINTR)
			err = -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	if (!err && sync && fdatasync(fd))
		err = -errno;
	close(fd);
	return err;
}

static void dir_sync(const struct monitors *m)
{
	int fd = open(m->options.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int monitors_file_write(const struct monitors *m, const struct bytes *data, bool sync)
{
	char path[PATH_MAX], new[PATH_MAX];
	int err = path_make(path, m, "");

	err = err ? err : path_make(new, m, ".new");
	err = err ? err : file_write(new, data, sync);
	if (!err && rename(new, path))
		err = -errno;
	if (!err && sync)
		dir_sync(m);
	return err;
}

/* All of a regular file. -ENOENT: there is none. */
static int file_read(const char *path, struct bytes *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned char buffer[8192];
	struct stat st;
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	do {
		n = err ? 0 : read(fd, buffer, sizeof(buffer));
		if (n > 0)
			bytes_put(out, buffer, (size_t)n);
	} while (n > 0 && out->count <= FILE_BYTES_MAX);
	if (n < 0)
		err = -errno;
	close(fd);
	return err ? err : out->failed ? -ENOMEM : out->count > FILE_BYTES_MAX ? -EFBIG : 0;
}

/* What cannot be read is put aside: nobody is told of anything because of it. */
static void damaged_put_aside(struct monitors *m, const char *path)
{
	char aside[PATH_MAX];

	monitors_kept_free(&m->kept);
	m->kept = (struct monitors_kept){0};
	if (!path_make(aside, m, ".damaged"))
		rename(path, aside);
	if (m->options.warn)
		m->options.warn(MONITORS_FILE " is damaged, and is now " MONITORS_FILE ".damaged: "
					      "monitors begin anew, without those of the API");
}

static void left_out_tell(const struct monitors *m)
{
	char text[256], more[48] = "";

	if (!m->kept.left_out || !m->options.warn)
		return;
	if (m->kept.left_out > 1)
		snprintf(more, sizeof(more), " (and %u others)", m->kept.left_out - 1);
	snprintf(text, sizeof(text), "a monitor in " MONITORS_FILE " is left out, %s%s",
		 m->kept.left_out_why, more);
	m->options.warn(text);
}

/* The reason why a rule of the API is left out; NULL: it stays. */
static const char *left_out_why(const struct monitors *m, struct monitor *one)
{
	if (monitor_find(&m->kept, one->rule.name))
		return "the file has one of this name";
	if (monitor_rule_finish(&one->rule, NULL))
		return "its rule is not understood";
	return m->kept.monitors.count < MONITOR_RULES_MAX ? NULL : "there are too many";
}

static bool stays(const struct monitors *m, struct monitor *one)
{
	const char *why = left_out_why(m, one);
	char text[256];

	if (why && m->options.warn) {
		snprintf(text, sizeof(text), "monitor '%s' of the API is left out: %s",
			 one->rule.name, why);
		m->options.warn(text);
	}
	return !why;
}

/* Rules of the API stay. Those of the file come from the configuration, with their old states. */
static int config_join(struct monitors *m)
{
	const struct monitors_config *config = m->options.config;
	struct monitors_kept old = m->kept;
	int err = 0;

	memset(&m->kept.monitors, 0, sizeof(m->kept.monitors));
	for (size_t i = 0; config && i < config->rules.count && !err; i++) {
		const struct monitor *before = monitor_find(&old, config->rules.data[i].name);
		struct monitor *made = calloc(1, sizeof(*made));

		err = made ? vec_push(&m->kept.monitors, made) : -ENOMEM;
		if (err) {
			free(made);
			break;
		}
		made->rule = config->rules.data[i];
		made->status = before ? before->status : MONITOR_STATUS_INITIAL;
		made->is_of_file = true;
		made->number = ++m->numbers;
	}
	for (size_t i = 0; i < old.monitors.count; i++) {
		struct monitor *one = old.monitors.data[i];

		one->number = ++m->numbers;
		if (err || one->is_of_file || !stays(m, one) || vec_push(&m->kept.monitors, one))
			free(one);
	}
	vec_free(&old.monitors);
	return err;
}

int monitors_load(struct monitors *m, struct error *e)
{
	char path[PATH_MAX];
	struct bytes data = {0};
	int err = path_make(path, m, "");

	err = err ? err : file_read(path, &data);
	if (!err && monitors_kept_read(data.data, data.count, &m->kept))
		damaged_put_aside(m, path);
	bytes_free(&data);
	if (err && err != -ENOENT)
		return error_set(e, err, "cannot read " MONITORS_FILE);
	left_out_tell(m);
	err = config_join(m);
	if (err)
		return error_set(e, err, "cannot begin to monitor");
	for (size_t i = 0; i < m->kept.tellings.count; i++) {
		if (m->kept.tellings.data[i].is_begun)
			monitors_give_up(m, &m->kept.tellings.data[i], TELLING_CUT_SHORT);
	}
	for (size_t i = 0; i < m->kept.monitors.count; i++) {
		if (m->kept.evaluated_ns && m->kept.evaluated_ns + GAP_NS < m->begun_ns)
			monitor_interrupt(&m->kept.monitors.data[i]->status, m->kept.evaluated_ns);
	}
	return 0;
}
