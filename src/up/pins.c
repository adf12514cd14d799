/* SPDX-License-Identifier: Apache-2.0 */
#include "up/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "chunk/directory.h"
#include "chunk/file.h"
#include "serve/serve.h"

#define CHUNKS "chunks"
#define PIN_FILE ".pin"
#define PIN_FILE_BYTES 512
#define BEFORE_NS UINT64_C(2000000000) /* that much earlier, where no state is known */
#define SECOND_NS UINT64_C(1000000000)

uint64_t pins_bytes(uint64_t keep_bytes)
{
	return keep_bytes ? keep_bytes / 100 * PINS_PERCENT : PINS_BYTES_DEFAULT;
}

void pin_write(struct json *j, const struct pin *pin)
{
	json_object_begin(j, NULL);
	json_string(j, "name", pin->name);
	if (*pin->trace)
		json_string(j, "trace_id", pin->trace);
	json_string(j, "why", pin->why);
	json_u64(j, "from_unix_ns", pin->from_ns);
	json_u64(j, "to_unix_ns", pin->to_ns);
	json_u64(j, "chunks", pin->chunks);
	json_u64(j, "bytes", pin->bytes);
	json_u64(j, "made_unix_ns", pin->made_ns);
	json_object_end(j);
}

/* ---- folders ---- */

static int folder_open(int parent, const char *name, bool makes)
{
	int fd;

	if (makes && mkdirat(parent, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A stream over a copy of the descriptor; NULL with errno. */
static DIR *folder_read(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir && copy >= 0)
		close(copy);
	return dir;
}

/* Removes a pin: its chunks, then its own files. */
static void folder_remove(int pins, const char *name)
{
	int fd = folder_open(pins, name, false);
	DIR *dir = fd < 0 ? NULL : folder_read(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    entry->d_type == DT_DIR)
			chunk_directory_remove_at(fd, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
	chunk_directory_remove_at(pins, name);
}

/* ---- chunks ---- */

static int file_link(int from, int to, const char *name, struct pin *pin)
{
	struct stat s;

	if (fstatat(from, name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode))
		return 0;
	if (linkat(from, name, to, name, 0))
		return -errno;
	pin->bytes += (uint64_t)s.st_blocks * 512;
	return 0;
}

static int chunk_link(int chunks, int pinned, const char *name, struct pin *pin)
{
	int from = folder_open(chunks, name, false),
	    to = from < 0 ? from : folder_open(pinned, name, true);
	DIR *dir = to < 0 ? NULL : folder_read(from);
	int err = dir ? 0 : to < 0 ? to : -errno;
	struct dirent *entry;

	while (!err && (entry = readdir(dir)))
		err = file_link(from, to, entry->d_name, pin);
	if (dir)
		closedir(dir);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	if (!err)
		pin->chunks++;
	else if (to >= 0)
		chunk_directory_remove_at(pinned, name);
	return err == -ENOENT ? 0 : err; /* it was deleted just now */
}

static bool chunk_is_wanted(const struct chunk_name *c, const struct pin *pin,
			    const struct pin_state *state)
{
	if (c->open || c->begin_unix_ns >= pin->to_ns)
		return false;
	if (state && c->seq >= state->first)
		return true;
	return c->end_unix_ns + (state ? 0 : BEFORE_NS) > pin->from_ns;
}

static int chunks_link(int dir, int pinned, struct pin *pin, const struct pin_state *state,
		       struct error *e)
{
	int chunks = folder_open(dir, CHUNKS, false);
	const struct recording_hold hold = {.dir = chunks, .lock = -1};
	struct chunk_names names = {0};
	bool has_own = false;
	int err = chunks < 0 ? chunks : chunk_names_list(CHUNKS, &hold, &names, e);

	for (size_t i = 0; i < names.count && !err; i++) {
		if (!chunk_is_wanted(&names.names[i], pin, state))
			continue;
		has_own |= names.names[i].end_unix_ns > pin->from_ns;
		err = chunk_link(chunks, pinned, names.names[i].name, pin);
	}
	chunk_names_free(&names);
	if (chunks >= 0)
		close(chunks);
	if (err)
		return error_set(e, err, "cannot pin chunks");
	return has_own && pin->chunks ? 0 : error_say(e, ENOENT, "no chunk is left of that time");
}

/* ---- the list ---- */

static bool pin_read(int pins, const char *name, struct pin *pin)
{
	int fd = folder_open(pins, name, false);
	void *text = NULL;
	size_t bytes;
	char trace[PIN_TRACE_BYTES] = "";
	bool is_read;

	*pin = (struct pin){0};
	if (fd < 0)
		return false;
	is_read = file_read_all(fd, PIN_FILE, PIN_FILE_BYTES, &text, &bytes) == 0 &&
		  sscanf(text,
			 "%" SCNu64 " %" SCNu64 " %32s %" SCNu64 " %" SCNu64 " %" SCNu64
			 " %63[^\n]",
			 &pin->from_ns, &pin->to_ns, trace, &pin->bytes, &pin->chunks,
			 &pin->made_ns, pin->why) >= 6;
	free(text);
	close(fd);
	snprintf(pin->name, sizeof(pin->name), "%s", name);
	if (strcmp(trace, "-") != 0)
		memcpy(pin->trace, trace, sizeof(pin->trace));
	return is_read;
}

static int pin_compare(const void *a, const void *b)
{
	const struct pin *x = a, *y = b;

	return (x->made_ns < y->made_ns) - (x->made_ns > y->made_ns);
}

static int list_read(int pins, pin_list *out)
{
	DIR *dir = folder_read(pins);
	struct dirent *entry;
	int err = dir ? 0 : -errno;

	while (!err && (entry = readdir(dir))) {
		struct pin pin;

		if (*entry->d_name != '.' && strlen(entry->d_name) < PIN_NAME_BYTES &&
		    pin_read(pins, entry->d_name, &pin))
			err = vec_push(out, pin);
	}
	if (dir)
		closedir(dir);
	if (out->count)
		qsort(out->data, out->count, sizeof(*out->data), pin_compare);
	return err;
}

/* The folder of pins, locked; a negative errno. */
static int pins_open(int dir, bool makes)
{
	int fd = folder_open(dir, PINS_DIR, makes);

	if (fd >= 0 && flock(fd, LOCK_EX)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* With the lock: removes pins that are not whole, since who made them was killed. */
static void leftovers_remove(int pins)
{
	DIR *dir = folder_read(pins);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			folder_remove(pins, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* ---- room ---- */

static bool is_asked(const struct pin *pin)
{
	return strcmp(pin->why, PIN_ASKED) == 0;
}

/* What somebody asked for stands first, then the newest. */
static int rank_compare(const void *a, const void *b)
{
	const struct pin *x = a, *y = b;
	int order = is_asked(y) - is_asked(x);

	return order ? order : (x->made_ns < y->made_ns) - (x->made_ns > y->made_ns);
}

/*
 * Removes pins from the end of the ranks until the others and `pin`, which is not there yet, take
 * `most_bytes` at most. -E2BIG: those that stand before it leave no room for it; then none goes.
 */
static int room_make(int pins, const struct pin *pin, uint64_t most_bytes, struct error *e)
{
	uint64_t before = 0, sum = pin->bytes;
	pin_list list = {0};
	int err = list_read(pins, &list);

	if (!err && list.count)
		qsort(list.data, list.count, sizeof(*list.data), rank_compare);
	for (size_t i = 0; i < list.count && !err; i++) {
		if (strcmp(list.data[i].name, pin->name) == 0)
			list.data[i].bytes = 0; /* it is pinned anew */
		if (is_asked(&list.data[i]) && !is_asked(pin))
			before += list.data[i].bytes;
	}
	if (!err && before + pin->bytes > most_bytes)
		err = error_say(e, E2BIG,
				"its chunks take %" PRIu64 " MB, and there is room for %" PRIu64
				" MB: pins take a fifth of the size in --keep at most, or 512 MB",
				(pin->bytes >> 20) + 1,
				before < most_bytes ? (most_bytes - before) >> 20 : 0);
	for (size_t i = 0; i < list.count && !err; i++) {
		sum += list.data[i].bytes;
		if (sum > most_bytes && list.data[i].bytes)
			folder_remove(pins, list.data[i].name);
	}
	vec_free(&list);
	return err;
}

/* ---- a pin ---- */

static void name_make(struct pin *pin)
{
	time_t seconds = (time_t)(pin->from_ns / SECOND_NS);
	struct tm tm;
	char text[32];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	snprintf(pin->name, sizeof(pin->name), "%s.%03u-%s", text,
		 (unsigned int)(pin->from_ns / 1000000 % 1000), *pin->trace ? pin->trace : "time");
}

static int pin_file_write(int fd, const struct pin *pin)
{
	char text[PIN_FILE_BYTES];
	int bytes = snprintf(text, sizeof(text),
			     "%" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
			     pin->from_ns, pin->to_ns, *pin->trace ? pin->trace : "-", pin->bytes,
			     pin->chunks, pin->made_ns, pin->why);

	return file_replace(fd, PIN_FILE, text, (size_t)bytes, false);
}

static int pin_fill(int dir, int pinned, struct pin *pin, const struct pin_state *state,
		    struct error *e)
{
	const struct recording_hold hold = {.dir = pinned, .lock = -1};
	int err = chunks_link(dir, pinned, pin, state, e);

	if (!err && state)
		err = recording_checkpoint_write(PINS_DIR, &hold, NULL, state->checkpoint, e);
	if (!err) {
		pin->made_ns = clock_read_ns(CLOCK_REALTIME);
		err = pin_file_write(pinned, pin);
		if (err)
			error_set(e, err, "cannot pin chunks");
	}
	return err;
}

static void building_name(char building[PIN_NAME_BYTES + 1], const struct pin *pin)
{
	snprintf(building, PIN_NAME_BYTES + 1, ".%s", pin->name);
}

/* Makes it under another name, which says that it is not whole yet. */
static int pin_build(int dir, int pins, struct pin *pin, const struct pin_state *state,
		     struct error *e)
{
	char building[PIN_NAME_BYTES + 1];
	int pinned, err;

	building_name(building, pin);
	pinned = folder_open(pins, building, true);
	err = pinned < 0 ? error_set(e, pinned, "cannot make a pin")
			 : pin_fill(dir, pinned, pin, state, e);
	if (pinned >= 0)
		close(pinned);
	if (err)
		folder_remove(pins, building);
	return err;
}

/* Gives one that was built its name, if there is room for it. */
static int pin_settle(int pins, const struct pin *pin, uint64_t most_bytes, struct error *e)
{
	char building[PIN_NAME_BYTES + 1];
	int err = room_make(pins, pin, most_bytes, e);

	building_name(building, pin);
	if (!err) {
		folder_remove(pins, pin->name); /* it is pinned anew */
		if (renameat(pins, building, pins, pin->name))
			err = error_set(e, -errno, "cannot make a pin");
	}
	if (err)
		folder_remove(pins, building);
	return err;
}

int pin_make(int dir, struct pin *pin, const struct pin_state *state, uint64_t most_bytes,
	     struct error *e)
{
	int pins = pins_open(dir, true), err = 0;
	struct pin before;

	if (pins < 0)
		return error_set(e, pins, "cannot make the folder of pins");
	leftovers_remove(pins);
	name_make(pin);
	pin->bytes = pin->chunks = 0;
	if (!is_asked(pin) && pin_read(pins, pin->name, &before) && is_asked(&before)) {
		*pin = before;
	} else {
		err = pin_build(dir, pins, pin, state, e);
		err = err ? err : pin_settle(pins, pin, most_bytes, e);
	}
	close(pins);
	return err;
}

/* ---- all of them ---- */

int pins_list(int dir, pin_list *out)
{
	int pins = pins_open(dir, false), err;

	if (pins == -ENOENT)
		return 0;
	err = pins < 0 ? pins : list_read(pins, out);
	if (pins >= 0)
		close(pins);
	return err;
}

int pin_remove(int dir, const char *name, struct error *e)
{
	int pins = pins_open(dir, false), err = pins < 0 ? pins : 0;
	struct pin pin;

	if (!err && (*name == '.' || strchr(name, '/') || strlen(name) >= PIN_NAME_BYTES ||
		     !pin_read(pins, name, &pin)))
		err = -ENOENT;
	if (!err)
		folder_remove(pins, name);
	if (pins >= 0)
		close(pins);
	return err ? error_say(e, -err, "there is no pin '%s'", name) : 0;
}
