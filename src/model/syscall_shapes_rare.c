/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of arguments of rare calls: System V IPC, NUMA, quotas, keys, priorities and others. */
#include <inttypes.h>

#include "model/syscall_shapes.h"
#include "record/syscalls_compat.h"

void shape_ipc_key(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[i])
		text_put(t, "%#x", (u32)args[i]);
	else
		text_put(t, "IPC_PRIVATE");
}

/* Flags, with permissions in the low bits. */
void shape_ipc_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u64 mode = args[i] & 0777;
	u32 flags = (u32)args[i] & ~0777u;

	if (flags) {
		if (set == &set_shm_get_flags)
			text_put_huge(t, set, flags, "SHM");
		else
			text_put_flags(t, set, flags);
		text_put(t, "|");
	}
	shape_mode(t, NULL, &mode, 0);
}

/* The commands of msgctl, semctl and shmctl; the bit selects the newer structures. */
void shape_ipc_command(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u32 ipc_64 = 0x100;

	text_put(t, "%s", (u32)args[i] & ipc_64 ? "IPC_64|" : "");
	text_put_name(t, set, (u32)args[i] & ~ipc_64);
}

void shape_mempolicy_mode(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i] & 0xe000, mode = (u32)args[i] & ~0xe000u;
	const char *name = flag_name_of(set->names, mode);

	if (name)
		text_put(t, flags ? "%s|" : "%s", name);
	if (flags || !name)
		text_put_flags(t, &set_mempolicy_mode_flags, name ? flags : (u32)args[i]);
}

void shape_fanotify_init(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u32 classes = 0xc;
	u32 flags = (u32)args[i] & ~classes;

	text_put_name(t, &set_fanotify_class, (u32)args[i] & classes);
	if (flags) {
		text_put(t, "|");
		text_put_flags(t, set, flags);
	}
}

/* An offset in pages. */
void shape_pages(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const u64 offset = args[i] << 12;

	shape_map_offset(t, set, &offset, 0);
}

/* A class in the upper bits, which gives the rest its meaning. */
void shape_ioprio(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 value = (u32)args[i];

	text_put(t, "IOPRIO_PRIO_VALUE(");
	text_put_name(t, &set_ioprio_class, value >> 13);
	text_put(t, ", %u)", value & 0x1fff);
}

/* A descriptor where files are compared. */
void shape_kcmp_index(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, (u32)args[2] == 0 /* KCMP_FILE */ ? "%" PRIu64 : "%#" PRIx64,
		 (uint64_t)args[i]);
}

/* A special keyring by name, or a serial number. */
void shape_keyring(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const char *name = flag_name_of(set->names, (u32)args[i]);

	if (name)
		text_put(t, "%s", name);
	else
		text_put(t, "%d", (int)args[i]);
}

/* All bits: only ask. */
void shape_personality(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 flags = (u32)args[i] & ~0xffu;

	if ((u32)args[i] == UINT32_MAX) {
		text_put(t, "0xffffffff");
		return;
	}
	text_put_name(t, set, (u32)args[i] & 0xff);
	if (flags & 0xffe0000) {
		text_put(t, "|");
		text_put_flags(t, &set_personality_flags, flags);
	} else if (flags) {
		text_put(t, "|%#x", flags);
	}
}

void shape_quota_command(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	text_put(t, "QCMD(");
	text_put_name(t, set, (u32)args[i] >> 8);
	text_put(t, ", ");
	text_put_name(t, &set_quota_type, (u32)args[i] & 0xff);
	text_put(t, ")");
}

/* Only filters have flags with names. */
void shape_seccomp_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	if ((u32)args[0] == 1)
		text_put_flags(t, set, (u32)args[i]);
	else
		text_put(t, args[i] ? "%#x" : "%x", (u32)args[i]);
}

/* Flags, with a priority in the lower 15 bits. */
void shape_swap_flags(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	u32 priority = (u32)args[i] & 0x7fff, flags = (u32)args[i] & ~0x7fffu;

	if (flags)
		text_put_flags(t, set, flags);
	text_put(t, "%s%u", flags ? "|" : "", priority);
}

/* A number, with its name behind it. */
void shape_syslog_action(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
	const char *name = flag_name_of(set->names, (u32)args[i]);

	text_put(t, "%d /* %s */", (int)args[i], name ? name : set->unknown);
}

void shape_socketcall(struct text *t, const struct flag_set *set, const u64 *args, int i)
{
#define ROW(call, name, native) [call] = "SYS_" #name,
	static const char *const names[SYSCALL_SOCKETCALLS] = {RECORD_SOCKETCALLS(ROW)};
#undef ROW
	const char *name = args[i] < SYSCALL_SOCKETCALLS ? names[args[i]] : NULL;

	if (name)
		text_put(t, "%s", name);
	else
		text_put(t, "%" PRIu64, (uint64_t)args[i]);
}
