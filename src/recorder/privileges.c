/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUPS_MAX 65536 /* the kernel's limit */

int privileges_follow(pid_t tid, struct error *e)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3,
						  .pid = tid};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return error_set(e, errno, "cannot drop privileges");
	return privileges_limit((u64)data[1].permitted << 32 | data[0].permitted, e);
}

int privileges_limit(u64 kept, struct error *e)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return error_set(e, errno, "cannot drop privileges");
	for (int half = 0; half < 2; half++) {
		u32 mask = (u32)(kept >> (32 * half));

		data[half].permitted &= mask;
		data[half].effective &= mask;
		data[half].inheritable &= mask;
	}
	if (syscall(SYS_capset, &header, data))
		return error_set(e, errno, "cannot drop privileges");
	return 0;
}

static int groups_read(struct login *l)
{
	gid_t *groups = calloc(GROUPS_MAX, sizeof(*groups));
	int count = GROUPS_MAX;

	if (!groups)
		return -ENOMEM;
	if (!l->name || getgrouplist(l->name, l->owner.gid, groups, &count) < 0) {
		groups[0] = l->owner.gid;
		count = 1;
	}
	l->groups = groups;
	l->group_count = count;
	return 0;
}

int login_read(struct login *login, const struct chunk_owner *owner, struct error *e)
{
	struct login l = {.other = owner && owner->uid != getuid()};
	const struct passwd *known;
	int err;

	if (l.other) {
		l.owner = *owner;
		known = getpwuid(owner->uid);
		l.name = known ? strdup(known->pw_name) : NULL;
		l.home = known ? strdup(known->pw_dir) : NULL;
		err = known && (!l.name || !l.home) ? -ENOMEM : groups_read(&l);
		if (err) {
			login_free(&l);
			return error_set(e, err, "cannot look up user %u", owner->uid);
		}
	}
	*login = l;
	return 0;
}

void login_free(struct login *login)
{
	free(login->name);
	free(login->home);
	free(login->groups);
	*login = (struct login){0};
}

u64 login_capabilities(const struct login *login)
{
	return login->other ? 1ull << CAP_SETUID | 1ull << CAP_SETGID : 0;
}

static int login_environment(const struct login *l)
{
	if (l->name && (setenv("USER", l->name, 1) || setenv("LOGNAME", l->name, 1)))
		return -errno;
	return l->home && setenv("HOME", l->home, 1) ? -errno : 0;
}

int login_take(const struct login *l)
{
	uid_t uid = l->other ? l->owner.uid : getuid();
	gid_t gid = l->other ? l->owner.gid : getgid();

	if (l->other && setgroups((size_t)l->group_count, l->groups))
		return -errno;
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return privileges_limit(0, NULL) ? -EPERM : login_environment(l);
}
