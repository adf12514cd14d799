/* SPDX-License-Identifier: Apache-2.0 */
#include "model/syscall_format.h"

#include <errno.h>
#include <string.h>

#include "record/syscalls_compat.h"

#define ROW(nr, name, nargs, fd, classes, kinds) [nr] = #name,
static const char *const names[SYSCALL_TABLE_SIZE] = { RECORD_SYSCALLS(ROW) };
#undef ROW

#define ROW(nr, name, nargs, fd, classes, kinds) [nr] = (classes),
static const u8 classes[SYSCALL_TABLE_SIZE] = { RECORD_SYSCALLS(ROW) };
#undef ROW

#define ROW(nr, name, native) [nr] = { #name, native },
static const struct {
	const char *name;
	int native;
} compat[SYSCALL_COMPAT_TABLE_SIZE] = { RECORD_SYSCALLS_COMPAT(ROW) };
#undef ROW

static const struct {
	const char *name;
	u8 bit;
} class_names[] = {
#define V(name, bit) { #name, bit },
	SYSCALL_CLASSES(V)
#undef V
};

const char *syscall_name(u8 abi_flags, u16 nr)
{
	if (nr >= SYSCALL_TABLE_SIZE)
		return NULL;
	return abi_flags & SYSCALL_COMPAT ? compat[nr].name : names[nr];
}

int syscall_native(u16 compat_nr)
{
	if (compat_nr >= SYSCALL_COMPAT_TABLE_SIZE || !compat[compat_nr].name)
		return -1;
	return compat[compat_nr].native;
}

static int name_find(const char *name, size_t len)
{
	for (int nr = 0; nr < SYSCALL_TABLE_SIZE; nr++) {
		if (names[nr] && strlen(names[nr]) == len && memcmp(names[nr], name, len) == 0)
			return nr;
	}
	return -ENOENT;
}

static u8 class_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(class_names) / sizeof(class_names[0]); i++) {
		if (strlen(class_names[i].name) == len && memcmp(class_names[i].name, name, len) == 0)
			return class_names[i].bit;
	}
	return 0;
}

static int set_add(struct syscall_set *set, const char *item, size_t len, struct error *e)
{
	int nr;

	if (len > 0 && item[0] == '%') {
		u8 class = class_find(item + 1, len - 1);

		if (!class)
			return error_say(e, EINVAL, "no class of system calls is named '%.*s'",
					 (int)len, item);
		for (nr = 0; nr < SYSCALL_TABLE_SIZE; nr++) {
			if (classes[nr] & class)
				set->bits[nr >> 3] |= (u8)(1 << (nr & 7));
		}
		return 0;
	}
	nr = name_find(item, len);
	if (nr < 0)
		return error_say(e, EINVAL, "no system call is named '%.*s'", (int)len, item);
	set->bits[nr >> 3] |= (u8)(1 << (nr & 7));
	return 0;
}

int syscall_set_parse(struct syscall_set *set, const char *list, struct error *e)
{
	struct syscall_set found = { { 0 } };
	bool negate = *list == '!';

	list += negate;
	for (;;) {
		size_t len = strcspn(list, ",");
		int err = set_add(&found, list, len, e);

		if (err)
			return err;
		if (!list[len])
			break;
		list += len + 1;
	}
	for (size_t i = 0; i < sizeof(found.bits); i++)
		set->bits[i] = negate ? (u8)~found.bits[i] : found.bits[i];
	return 0;
}

static const char *const kernel_errnos[] = {
	"ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", "ENOIOCTLCMD", "ERESTART_RESTARTBLOCK",
	"EPROBE_DEFER", "EOPENSTALE", "ENOPARAM",
};

const char *syscall_errno_name(int err)
{
	unsigned int number = err < 0 ? 0u - (unsigned int)err : (unsigned int)err;
	const size_t count = sizeof(kernel_errnos) / sizeof(kernel_errnos[0]);

	if (number >= 512 && number < 512 + count)
		return kernel_errnos[number - 512];
	return number < 4096 ? error_name((int)number) : NULL;
}
