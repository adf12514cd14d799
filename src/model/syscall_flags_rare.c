/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of rare calls: System V IPC, NUMA, fanotify, capabilities and others. If headers may
 * be older than a constant, the kernel's value is given.
 */
#include <linux/capability.h>
#include <linux/fanotify.h>
#include <linux/kcmp.h>
#include <linux/mempolicy.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <linux/xattr.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "model/syscall_flags.h"

#define N(constant)                                                                                \
	{                                                                                          \
		(u64)(u32)(constant), #constant                                                    \
	}

/* clang-format off */
const struct flag_name flags_xattr_flags[] = {
	N(XATTR_CREATE), N(XATTR_REPLACE),
	{ 0, NULL }
};

const struct flag_name flags_msg_flags[] = {
	N(MSG_NOERROR), N(MSG_EXCEPT), { 040000, "MSG_COPY" }, N(IPC_NOWAIT),
	{ 0, NULL }
};

const struct flag_name flags_msg_command[] = {
	N(IPC_RMID), N(IPC_SET), N(IPC_STAT), N(IPC_INFO), N(MSG_STAT), N(MSG_INFO),
	{ 13, "MSG_STAT_ANY" },
	{ 0, NULL }
};

const struct flag_name flags_sem_command[] = {
	N(IPC_RMID), N(IPC_SET), N(IPC_STAT), N(IPC_INFO), N(SEM_STAT), N(SEM_INFO),
	{ 20, "SEM_STAT_ANY" }, N(GETPID), N(GETVAL), N(GETALL), N(GETNCNT), N(GETZCNT), N(SETVAL),
	N(SETALL),
	{ 0, NULL }
};

const struct flag_name flags_shm_command[] = {
	N(IPC_RMID), N(IPC_SET), N(IPC_STAT), N(IPC_INFO), N(SHM_STAT), N(SHM_INFO),
	{ 15, "SHM_STAT_ANY" }, N(SHM_LOCK), N(SHM_UNLOCK),
	{ 0, NULL }
};

const struct flag_name flags_shm_at_flags[] = {
	N(SHM_RDONLY), N(SHM_RND), N(SHM_REMAP), N(SHM_EXEC),
	{ 0, NULL }
};

const struct flag_name flags_mempolicy_mode[] = {
	N(MPOL_DEFAULT), N(MPOL_PREFERRED), N(MPOL_BIND), N(MPOL_INTERLEAVE), N(MPOL_LOCAL),
	{ 5, "MPOL_PREFERRED_MANY" }, { 6, "MPOL_WEIGHTED_INTERLEAVE" },
	{ 0, NULL }
};

const struct flag_name flags_mempolicy_mode_flags[] = {
	N(MPOL_F_STATIC_NODES), N(MPOL_F_RELATIVE_NODES), { 0x2000, "MPOL_F_NUMA_BALANCING" },
	{ 0, NULL }
};

const struct flag_name flags_mempolicy_flags[] = {
	N(MPOL_F_NODE), N(MPOL_F_ADDR), N(MPOL_F_MEMS_ALLOWED),
	{ 0, NULL }
};

const struct flag_name flags_mbind_flags[] = {
	N(MPOL_MF_STRICT), N(MPOL_MF_MOVE), N(MPOL_MF_MOVE_ALL),
	{ 0, NULL }
};

const struct flag_name flags_move_pages_flags[] = {
	N(MPOL_MF_MOVE), N(MPOL_MF_MOVE_ALL),
	{ 0, NULL }
};

const struct flag_name flags_fanotify_class[] = {
	N(FAN_CLASS_NOTIF), N(FAN_CLASS_CONTENT), N(FAN_CLASS_PRE_CONTENT),
	{ 0, NULL }
};

const struct flag_name flags_fanotify_init_flags[] = {
	N(FAN_CLOEXEC), N(FAN_NONBLOCK), N(FAN_UNLIMITED_QUEUE), N(FAN_UNLIMITED_MARKS),
	N(FAN_ENABLE_AUDIT), { 0x80, "FAN_REPORT_PIDFD" }, { 0x100, "FAN_REPORT_TID" },
	{ 0x200, "FAN_REPORT_FID" }, { 0x400, "FAN_REPORT_DIR_FID" }, { 0x800, "FAN_REPORT_NAME" },
	{ 0x1000, "FAN_REPORT_TARGET_FID" },
	{ 0, NULL }
};

const struct flag_name flags_fanotify_mark_flags[] = {
	N(FAN_MARK_ADD), N(FAN_MARK_REMOVE), N(FAN_MARK_DONT_FOLLOW), N(FAN_MARK_ONLYDIR),
	{ 0x10, "FAN_MARK_MOUNT" }, N(FAN_MARK_IGNORED_MASK), N(FAN_MARK_IGNORED_SURV_MODIFY),
	N(FAN_MARK_FLUSH), { 0x100, "FAN_MARK_FILESYSTEM" }, { 0x200, "FAN_MARK_EVICTABLE" },
	{ 0x400, "FAN_MARK_IGNORE" },
	{ 0, NULL }
};

const struct flag_name flags_fanotify_mask[] = {
	N(FAN_ACCESS), N(FAN_MODIFY), { 4, "FAN_ATTRIB" }, N(FAN_CLOSE_WRITE),
	N(FAN_CLOSE_NOWRITE), N(FAN_OPEN), { 0x40, "FAN_MOVED_FROM" }, { 0x80, "FAN_MOVED_TO" },
	{ 0x100, "FAN_CREATE" }, { 0x200, "FAN_DELETE" }, { 0x400, "FAN_DELETE_SELF" },
	{ 0x800, "FAN_MOVE_SELF" }, { 0x1000, "FAN_OPEN_EXEC" }, N(FAN_Q_OVERFLOW),
	{ 0x8000, "FAN_FS_ERROR" }, N(FAN_OPEN_PERM), N(FAN_ACCESS_PERM),
	{ 0x40000, "FAN_OPEN_EXEC_PERM" }, { 0x80000, "FAN_DIR_MODIFY" }, N(FAN_ONDIR),
	N(FAN_EVENT_ON_CHILD), { 0x10000000, "FAN_RENAME" },
	{ 0, NULL }
};

const struct flag_name flags_userfaultfd_flags[] = {
	{ 1, "UFFD_USER_MODE_ONLY" }, { 04000, "O_NONBLOCK" }, { 02000000, "O_CLOEXEC" },
	{ 0, NULL }
};

const struct flag_name flags_pidfd_flags[] = {
	{ 04000, "PIDFD_NONBLOCK" }, { 0200, "PIDFD_THREAD" },
	{ 0, NULL }
};

const struct flag_name flags_kcmp_type[] = {
	N(KCMP_FILE), N(KCMP_VM), N(KCMP_FILES), N(KCMP_FS), N(KCMP_SIGHAND), N(KCMP_IO),
	N(KCMP_SYSVSEM), { 7, "KCMP_EPOLL_TFD" },
	{ 0, NULL }
};

const struct flag_name flags_perf_flags[] = {
	N(PERF_FLAG_FD_NO_GROUP), N(PERF_FLAG_FD_OUTPUT), N(PERF_FLAG_PID_CGROUP),
	N(PERF_FLAG_FD_CLOEXEC),
	{ 0, NULL }
};

const struct flag_name flags_mlock_flags[] = {
	{ 1, "MLOCK_ONFAULT" },
	{ 0, NULL }
};

const struct flag_name flags_node_type[] = {
	{ 0010000, "S_IFIFO" }, { 0020000, "S_IFCHR" }, { 0040000, "S_IFDIR" },
	{ 0060000, "S_IFBLK" }, { 0100000, "S_IFREG" }, { 0120000, "S_IFLNK" },
	{ 0140000, "S_IFSOCK" },
	{ 0, NULL }
};

const struct flag_name flags_capability[] = {
	N(CAP_CHOWN), N(CAP_DAC_OVERRIDE), N(CAP_DAC_READ_SEARCH), N(CAP_FOWNER), N(CAP_FSETID),
	N(CAP_KILL), N(CAP_SETGID), N(CAP_SETUID), N(CAP_SETPCAP), N(CAP_LINUX_IMMUTABLE),
	N(CAP_NET_BIND_SERVICE), N(CAP_NET_BROADCAST), N(CAP_NET_ADMIN), N(CAP_NET_RAW),
	N(CAP_IPC_LOCK), N(CAP_IPC_OWNER), N(CAP_SYS_MODULE), N(CAP_SYS_RAWIO), N(CAP_SYS_CHROOT),
	N(CAP_SYS_PTRACE), N(CAP_SYS_PACCT), N(CAP_SYS_ADMIN), N(CAP_SYS_BOOT), N(CAP_SYS_NICE),
	N(CAP_SYS_RESOURCE), N(CAP_SYS_TIME), N(CAP_SYS_TTY_CONFIG), N(CAP_MKNOD), N(CAP_LEASE),
	N(CAP_AUDIT_WRITE), N(CAP_AUDIT_CONTROL), N(CAP_SETFCAP), N(CAP_MAC_OVERRIDE),
	N(CAP_MAC_ADMIN), N(CAP_SYSLOG), N(CAP_WAKE_ALARM), N(CAP_BLOCK_SUSPEND),
	N(CAP_AUDIT_READ), { 38, "CAP_PERFMON" }, { 39, "CAP_BPF" },
	{ 40, "CAP_CHECKPOINT_RESTORE" },
	{ 0, NULL }
};

const struct flag_name flags_secure_bits[] = {
	N(SECBIT_NOROOT), N(SECBIT_NOROOT_LOCKED), N(SECBIT_NO_SETUID_FIXUP),
	N(SECBIT_NO_SETUID_FIXUP_LOCKED), N(SECBIT_KEEP_CAPS), N(SECBIT_KEEP_CAPS_LOCKED),
	N(SECBIT_NO_CAP_AMBIENT_RAISE), N(SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED),
	{ 0, NULL }
};

const struct flag_name flags_ambient_command[] = {
	N(PR_CAP_AMBIENT_IS_SET), N(PR_CAP_AMBIENT_RAISE), N(PR_CAP_AMBIENT_LOWER),
	N(PR_CAP_AMBIENT_CLEAR_ALL),
	{ 0, NULL }
};

const struct flag_name flags_dumpable[] = {
	{ 0, "SUID_DUMP_DISABLE" }, { 1, "SUID_DUMP_USER" }, { 2, "SUID_DUMP_ROOT" },
	{ 0, NULL }
};

const struct flag_name flags_seccomp_mode[] = {
	N(SECCOMP_MODE_DISABLED), N(SECCOMP_MODE_STRICT), N(SECCOMP_MODE_FILTER),
	{ 0, NULL }
};

const struct flag_name flags_udp_options[] = {
	{ 1, "UDP_CORK" }, { 100, "UDP_ENCAP" }, { 101, "UDP_NO_CHECK6_TX" },
	{ 102, "UDP_NO_CHECK6_RX" }, { 103, "UDP_SEGMENT" }, { 104, "UDP_GRO" },
	{ 0, NULL }
};

const struct flag_name flags_packet_options[] = {
	{ 1, "PACKET_ADD_MEMBERSHIP" }, { 2, "PACKET_DROP_MEMBERSHIP" }, { 3, "PACKET_RECV_OUTPUT" },
	{ 5, "PACKET_RX_RING" }, { 6, "PACKET_STATISTICS" }, { 7, "PACKET_COPY_THRESH" },
	{ 8, "PACKET_AUXDATA" }, { 9, "PACKET_ORIGDEV" }, { 10, "PACKET_VERSION" },
	{ 11, "PACKET_HDRLEN" }, { 12, "PACKET_RESERVE" }, { 13, "PACKET_TX_RING" },
	{ 14, "PACKET_LOSS" }, { 15, "PACKET_VNET_HDR" }, { 16, "PACKET_TX_TIMESTAMP" },
	{ 17, "PACKET_TIMESTAMP" }, { 18, "PACKET_FANOUT" }, { 19, "PACKET_TX_HAS_OFF" },
	{ 20, "PACKET_QDISC_BYPASS" }, { 21, "PACKET_ROLLOVER_STATS" },
	{ 22, "PACKET_FANOUT_DATA" }, { 23, "PACKET_IGNORE_OUTGOING" },
	{ 24, "PACKET_VNET_HDR_SZ" },
	{ 0, NULL }
};

const struct flag_name flags_netlink_options[] = {
	N(NETLINK_ADD_MEMBERSHIP), N(NETLINK_DROP_MEMBERSHIP), N(NETLINK_PKTINFO),
	N(NETLINK_BROADCAST_ERROR), N(NETLINK_NO_ENOBUFS), { 6, "NETLINK_RX_RING" },
	{ 7, "NETLINK_TX_RING" }, N(NETLINK_LISTEN_ALL_NSID), N(NETLINK_LIST_MEMBERSHIPS),
	N(NETLINK_CAP_ACK), N(NETLINK_EXT_ACK), { 12, "NETLINK_GET_STRICT_CHK" },
	{ 0, NULL }
};

/* clang-format on */
