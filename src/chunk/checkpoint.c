/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file "checkpoint" of a recording, little endian:
 *
 *   bytes   what
 *   0-7     "fathomB1"
 *   8-11    CRC32C of all that follows
 *   12-48   boot id, NULs behind it
 *   49-56   end_ns
 *   57-     the data, to the end of the file
 *
 * It is replaced by a rename of ".checkpoint.new", so a crash leaves the old one or the new one.
 * A chunk that ends by end_ns and still exists was not deleted because of a crash: it counts
 * as deleted.
 *
 * While a recorder deletes chunks, ".checkpoint.new" exists before it is written, to reserve space
 * on the disk. Its contents mean nothing then.
 */
#include "chunk/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "chunk/directory.h"
#include "chunk/file.h"

#define CHECKPOINT_NAME "checkpoint"
#define CHECKPOINT_NEW ".checkpoint.new"
#define CHECKPOINT_MAGIC "fathomB1"
#define CHECKPOINT_CHECKED 12 /* begin of the part that the checksum covers */
#define CHECKPOINT_DATA (CHECKPOINT_CHECKED + CHUNK_BOOT_BYTES + 8)
#define CHECKPOINT_MAX_BYTES (1u << 30)
#define ROOM_LEAST ((uint64_t)256 << 10)
#define ROOM_MOST ((uint64_t)4 << 20) /* reserved in addition to the known size */

/* Opens the new file with its reserved space. */
static int new_open(int dir)
{
	int fd = file_open_write(dir, CHECKPOINT_NEW);

	return fd < 0 ? file_create(dir, CHECKPOINT_NEW) : fd;
}

/* If the checkpoint cannot be written, its reserved space is kept for the next attempt. */
static int new_write(int dir, const void *data, size_t len)
{
	int fd = new_open(dir), err;

	if (fd < 0)
		return fd;
	err = file_write(fd, data, len);
	if (!err && (ftruncate(fd, (off_t)len) < 0 || fsync(fd) < 0))
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(dir, CHECKPOINT_NEW, dir, CHECKPOINT_NAME) < 0)
		err = -errno;
	return err;
}

static int checkpoint_replace(int dir, const struct recording_checkpoint *checkpoint)
{
	struct bytes checked = {0}, file = {0};
	int err;

	bytes_put(&checked, checkpoint->boot_id, CHUNK_BOOT_BYTES);
	bytes_put_u64(&checked, checkpoint->end_ns);
	bytes_put(&checked, checkpoint->data, checkpoint->bytes);
	bytes_put(&file, CHECKPOINT_MAGIC, 8);
	bytes_put_u32(&file, checked.failed ? 0 : crc32c(0, checked.data, checked.count));
	bytes_put(&file, checked.data, checked.count);
	err = checked.failed || file.failed ? -ENOMEM : new_write(dir, file.data, file.count);
	if (!err && fsync(dir) < 0)
		err = -errno;
	bytes_free(&checked);
	bytes_free(&file);
	return err;
}

/* In the owner's own directory the file is theirs already, and nothing else may be changed. */
static int checkpoint_give(int dir, const struct chunk_owner *owner)
{
	struct stat st;
	int fd, err = 0;

	if (!owner || (fstat(dir, &st) == 0 && st.st_uid != geteuid()))
		return 0;
	fd = file_open_regular(dir, CHECKPOINT_NAME);
	if (fd < 0)
		return fd;
	/* by its name it may be another file by then */
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_uid != geteuid() || st.st_nlink != 1)
		err = -EPERM;
	else if (fchown(fd, owner->uid, owner->gid) < 0)
		err = -errno;
	close(fd);
	return err;
}

int recording_checkpoint_write(const char *dir, const struct recording_hold *hold,
			       const struct chunk_owner *owner,
			       const struct recording_checkpoint *checkpoint, struct error *e)
{
	int fd = recording_directory(dir, hold), err;

	if (fd < 0)
		return error_set(e, fd, "cannot open %s", dir);
	err = checkpoint_replace(fd, checkpoint);
	if (!err)
		err = checkpoint_give(fd, owner);
	close(fd);
	return err ? error_set(e, err, "cannot write %s/" CHECKPOINT_NAME, dir) : 0;
}

/* Reserves an eighth of the free space: the size of the first checkpoint depends on the host. */
static uint64_t room_to_spare(int fd)
{
	struct statvfs disk;
	uint64_t bytes = fstatvfs(fd, &disk) == 0 ? disk.f_bavail * disk.f_frsize / 8 : 0;

	return bytes < ROOM_LEAST ? ROOM_LEAST : bytes < ROOM_MOST ? bytes : ROOM_MOST;
}

void recording_checkpoint_reserve(const struct recording_hold *hold,
				  const struct recording_checkpoint *checkpoint)
{
	int fd = new_open(hold->dir);

	if (fd < 0)
		return;
	posix_fallocate(fd, 0,
			(off_t)(checkpoint->bytes + checkpoint->bytes / 2 + room_to_spare(fd)));
	close(fd);
}

void recording_checkpoint_release(const struct recording_hold *hold)
{
	unlinkat(hold->dir, CHECKPOINT_NEW, 0);
}

static int checkpoint_parse(const unsigned char *file, size_t len,
			    struct recording_checkpoint *checkpoint)
{
	struct bytes_reader r = bytes_reader_over(file, len);
	struct recording_checkpoint b = {0};
	const void *magic = bytes_get(&r, 8), *boot;
	uint32_t crc = bytes_get_u32(&r);

	if (len < CHECKPOINT_DATA || memcmp(magic, CHECKPOINT_MAGIC, 8) != 0 ||
	    crc != crc32c(0, file + CHECKPOINT_CHECKED, len - CHECKPOINT_CHECKED))
		return -EBADMSG;
	boot = bytes_get(&r, CHUNK_BOOT_BYTES);
	memcpy(b.boot_id, boot, CHUNK_BOOT_BYTES - 1);
	b.end_ns = bytes_get_u64(&r);
	if (b.end_ns >= RECORD_TIME_END_NS)
		return -EBADMSG;
	b.bytes = len - CHECKPOINT_DATA;
	b.data = malloc(b.bytes + 1);
	if (!b.data)
		return -ENOMEM;
	memcpy(b.data, file + CHECKPOINT_DATA, b.bytes);
	*checkpoint = b;
	return 0;
}

int recording_checkpoint_read(const char *dir, const struct recording_hold *hold,
			      struct recording_checkpoint *checkpoint, struct error *e)
{
	int fd = recording_directory(dir, hold), err;
	void *file = NULL;
	size_t len = 0;

	if (fd < 0)
		return error_set(e, fd, "cannot open %s", dir);
	err = file_read_all(fd, CHECKPOINT_NAME, CHECKPOINT_MAX_BYTES, &file, &len);
	close(fd);
	if (err == -ENOENT)
		return err;
	if (!err)
		err = checkpoint_parse(file, len, checkpoint);
	free(file);
	if (err == -EBADMSG)
		return error_say(e, err, "%s/" CHECKPOINT_NAME " is damaged", dir);
	return err ? error_set(e, err, "cannot read %s/" CHECKPOINT_NAME, dir) : 0;
}

void recording_checkpoint_free(struct recording_checkpoint *checkpoint)
{
	free(checkpoint->data);
	checkpoint->data = NULL;
	checkpoint->bytes = 0;
}
