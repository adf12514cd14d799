/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/default_dir.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/chunk.h"
#include "recorder/owner.h"
#include "recorder/recover.h"

#define OLD_DIR DEFAULT_DIR ".old"
#define NEW_DIR DEFAULT_DIR ".new"

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/*
 * Seals the chunks that a crash left in `dir`, except for *left chunks. Ignores a directory that is
 * not a recording of this user.
 */
static int recover(const char *dir, size_t *left, struct error *e)
{
	struct recording_hold hold;
	int err = recording_removable(dir, owner_find(), NULL);

	if (err && err != -EBUSY)
		return 0;
	err = recording_lock(dir, owner_find(), &hold, e);
	if (err)
		return err;
	err = recover_report(dir, &hold, left, e);
	recording_unlock(&hold);
	return err;
}

/* If the default directory was a link, the link was moved, and its target stays. */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int old_remove(struct error *e)
{
	if (!is_link(OLD_DIR))
		return recording_remove(OLD_DIR, owner_find(), e);
	return unlink(OLD_DIR) ? error_set(e, errno, "cannot remove " OLD_DIR) : 0;
}

static int move_up(struct error *e)
{
	int err = is_there(OLD_DIR) && is_there(DEFAULT_DIR) ? old_remove(e) : 0;

	if (err)
		return err;
	if (rename(DEFAULT_DIR, OLD_DIR) != 0 && errno != ENOENT)
		return error_set(e, errno, "cannot move " DEFAULT_DIR " to " OLD_DIR);
	if (rename(NEW_DIR, DEFAULT_DIR) != 0)
		return error_set(e, errno, "cannot move " NEW_DIR " to " DEFAULT_DIR);
	return 0;
}

/* A recorder was killed just as it began: treats its directory as a recording. */
static int stale_move_up(struct error *e)
{
	struct recording *recording;
	const char *dir = NEW_DIR;
	size_t left = 0;
	int err = recover(dir, &left, e);

	if (err)
		return err;
	if (left) /* another version of fathom may be able to read it */
		return move_up(e);
	if (recording_open(&recording, &dir, 1, NULL, NULL))
		return recording_remove(dir, owner_find(), e);
	recording_close(recording);
	return move_up(e);
}

int default_dir_begin(const char **dir, struct error *e)
{
	int err = 0;

	if (is_there(DEFAULT_DIR))
		err = recover(DEFAULT_DIR, NULL, e);
	if (!err && is_there(NEW_DIR))
		err = stale_move_up(e);
	if (!err && is_there(OLD_DIR) && is_there(DEFAULT_DIR) && !is_link(OLD_DIR))
		err = recording_removable(OLD_DIR, owner_find(), e);
	if (!err)
		err = recording_make(NEW_DIR, owner_find(), e);
	if (err)
		error_hint(e, "choose another directory with -o");
	if (!err)
		*dir = NEW_DIR;
	return err;
}

int default_dir_settle(const char **dir, struct error *e)
{
	int err = move_up(e);

	if (!err)
		*dir = DEFAULT_DIR;
	return err;
}

void default_dir_abandon(void)
{
	recording_remove(NEW_DIR, owner_find(), NULL);
}
