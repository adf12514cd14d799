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
#include <poll.h>
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
const struct flag_name flags_poll_events[] = {
	N(POLLIN), N(POLLPRI), N(POLLOUT), N(POLLERR), N(POLLHUP), N(POLLNVAL), N(POLLRDNORM),
	N(POLLRDBAND), N(POLLWRNORM), N(POLLWRBAND), N(POLLMSG), N(POLLREMOVE), N(POLLRDHUP),
	{ 0, NULL }
};

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

const struct flag_name flags_mount_at_flags[] = {
	{ 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x800, "AT_NO_AUTOMOUNT" },
	{ 0x1000, "AT_EMPTY_PATH" }, { 0x8000, "AT_RECURSIVE" },
	{ 0, NULL }
};

const struct flag_name flags_fsopen_flags[] = {
	{ 0x1, "FSOPEN_CLOEXEC" },
	{ 0, NULL }
};

const struct flag_name flags_fsmount_flags[] = {
	{ 0x1, "FSMOUNT_CLOEXEC" },
	{ 0, NULL }
};

const struct flag_name flags_fspick_flags[] = {
	{ 0x1, "FSPICK_CLOEXEC" }, { 0x2, "FSPICK_SYMLINK_NOFOLLOW" },
	{ 0x4, "FSPICK_NO_AUTOMOUNT" }, { 0x8, "FSPICK_EMPTY_PATH" },
	{ 0, NULL }
};

const struct flag_name flags_fsconfig_command[] = {
	{ 0, "FSCONFIG_SET_FLAG" }, { 1, "FSCONFIG_SET_STRING" }, { 2, "FSCONFIG_SET_BINARY" },
	{ 3, "FSCONFIG_SET_PATH" }, { 4, "FSCONFIG_SET_PATH_EMPTY" }, { 5, "FSCONFIG_SET_FD" },
	{ 6, "FSCONFIG_CMD_CREATE" }, { 7, "FSCONFIG_CMD_RECONFIGURE" },
	{ 8, "FSCONFIG_CMD_CREATE_EXCL" },
	{ 0, NULL }
};

const struct flag_name flags_mount_attributes[] = {
	{ 1, "MOUNT_ATTR_RDONLY" }, { 2, "MOUNT_ATTR_NOSUID" }, { 4, "MOUNT_ATTR_NODEV" },
	{ 8, "MOUNT_ATTR_NOEXEC" }, { 0x10, "MOUNT_ATTR_NOATIME" },
	{ 0x20, "MOUNT_ATTR_STRICTATIME" }, { 0x80, "MOUNT_ATTR_NODIRATIME" },
	{ 0x100000, "MOUNT_ATTR_IDMAP" }, { 0x200000, "MOUNT_ATTR_NOSYMFOLLOW" },
	{ 0, NULL }
};

const struct flag_name flags_open_tree_flags[] = {
	{ 1, "OPEN_TREE_CLONE" }, { 02000000, "OPEN_TREE_CLOEXEC" },
	{ 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x800, "AT_NO_AUTOMOUNT" },
	{ 0x1000, "AT_EMPTY_PATH" }, { 0x8000, "AT_RECURSIVE" },
	{ 0, NULL }
};

const struct flag_name flags_move_mount_flags[] = {
	{ 1, "MOVE_MOUNT_F_SYMLINKS" }, { 2, "MOVE_MOUNT_F_AUTOMOUNTS" },
	{ 4, "MOVE_MOUNT_F_EMPTY_PATH" }, { 0x10, "MOVE_MOUNT_T_SYMLINKS" },
	{ 0x20, "MOVE_MOUNT_T_AUTOMOUNTS" }, { 0x40, "MOVE_MOUNT_T_EMPTY_PATH" },
	{ 0x100, "MOVE_MOUNT_SET_GROUP" }, { 0x200, "MOVE_MOUNT_BENEATH" },
	{ 0, NULL }
};

const struct flag_name flags_membarrier_command[] = {
	{ 0, "MEMBARRIER_CMD_QUERY" }, { 0x1, "MEMBARRIER_CMD_GLOBAL" },
	{ 0x2, "MEMBARRIER_CMD_GLOBAL_EXPEDITED" },
	{ 0x4, "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED" },
	{ 0x8, "MEMBARRIER_CMD_PRIVATE_EXPEDITED" },
	{ 0x10, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED" },
	{ 0x20, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE" },
	{ 0x40, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE" },
	{ 0x80, "MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ" },
	{ 0x100, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ" },
	{ 0x200, "MEMBARRIER_CMD_GET_REGISTRATIONS" },
	{ 0, NULL }
};

const struct flag_name flags_membarrier_flags[] = {
	{ 0x1, "MEMBARRIER_CMD_FLAG_CPU" },
	{ 0, NULL }
};

const struct flag_name flags_landlock_flags[] = {
	{ 0x1, "LANDLOCK_CREATE_RULESET_VERSION" },
	{ 0, NULL }
};

const struct flag_name flags_landlock_rule[] = {
	{ 1, "LANDLOCK_RULE_PATH_BENEATH" }, { 2, "LANDLOCK_RULE_NET_PORT" },
	{ 0, NULL }
};

const struct flag_name flags_ioprio_who[] = {
	{ 1, "IOPRIO_WHO_PROCESS" }, { 2, "IOPRIO_WHO_PGRP" }, { 3, "IOPRIO_WHO_USER" },
	{ 0, NULL }
};

const struct flag_name flags_ioprio_class[] = {
	{ 0, "IOPRIO_CLASS_NONE" }, { 1, "IOPRIO_CLASS_RT" }, { 2, "IOPRIO_CLASS_BE" },
	{ 3, "IOPRIO_CLASS_IDLE" },
	{ 0, NULL }
};

const struct flag_name flags_seccomp_operation[] = {
	{ 0, "SECCOMP_SET_MODE_STRICT" }, { 1, "SECCOMP_SET_MODE_FILTER" },
	{ 2, "SECCOMP_GET_ACTION_AVAIL" }, { 3, "SECCOMP_GET_NOTIF_SIZES" },
	{ 0, NULL }
};

const struct flag_name flags_seccomp_flags[] = {
	{ 0x1, "SECCOMP_FILTER_FLAG_TSYNC" }, { 0x2, "SECCOMP_FILTER_FLAG_LOG" },
	{ 0x4, "SECCOMP_FILTER_FLAG_SPEC_ALLOW" }, { 0x8, "SECCOMP_FILTER_FLAG_NEW_LISTENER" },
	{ 0x10, "SECCOMP_FILTER_FLAG_TSYNC_ESRCH" },
	{ 0x20, "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV" },
	{ 0, NULL }
};

const struct flag_name flags_reboot_magic[] = {
	{ 0xfee1dead, "LINUX_REBOOT_MAGIC1" }, { 672274793, "LINUX_REBOOT_MAGIC2" },
	{ 85072278, "LINUX_REBOOT_MAGIC2A" }, { 369367448, "LINUX_REBOOT_MAGIC2B" },
	{ 537993216, "LINUX_REBOOT_MAGIC2C" },
	{ 0, NULL }
};

const struct flag_name flags_reboot_command[] = {
	{ 0x01234567, "LINUX_REBOOT_CMD_RESTART" }, { 0xcdef0123, "LINUX_REBOOT_CMD_HALT" },
	{ 0x89abcdef, "LINUX_REBOOT_CMD_CAD_ON" }, { 0, "LINUX_REBOOT_CMD_CAD_OFF" },
	{ 0x4321fedc, "LINUX_REBOOT_CMD_POWER_OFF" }, { 0xa1b2c3d4, "LINUX_REBOOT_CMD_RESTART2" },
	{ 0xd000fce2, "LINUX_REBOOT_CMD_SW_SUSPEND" }, { 0x45584543, "LINUX_REBOOT_CMD_KEXEC" },
	{ 0, NULL }
};

const struct flag_name flags_keyctl_operation[] = {
	{ 0, "KEYCTL_GET_KEYRING_ID" }, { 1, "KEYCTL_JOIN_SESSION_KEYRING" },
	{ 2, "KEYCTL_UPDATE" }, { 3, "KEYCTL_REVOKE" }, { 4, "KEYCTL_CHOWN" },
	{ 5, "KEYCTL_SETPERM" }, { 6, "KEYCTL_DESCRIBE" }, { 7, "KEYCTL_CLEAR" },
	{ 8, "KEYCTL_LINK" }, { 9, "KEYCTL_UNLINK" }, { 10, "KEYCTL_SEARCH" },
	{ 11, "KEYCTL_READ" }, { 12, "KEYCTL_INSTANTIATE" }, { 13, "KEYCTL_NEGATE" },
	{ 14, "KEYCTL_SET_REQKEY_KEYRING" }, { 15, "KEYCTL_SET_TIMEOUT" },
	{ 16, "KEYCTL_ASSUME_AUTHORITY" }, { 17, "KEYCTL_GET_SECURITY" },
	{ 18, "KEYCTL_SESSION_TO_PARENT" }, { 19, "KEYCTL_REJECT" },
	{ 20, "KEYCTL_INSTANTIATE_IOV" }, { 21, "KEYCTL_INVALIDATE" },
	{ 22, "KEYCTL_GET_PERSISTENT" }, { 23, "KEYCTL_DH_COMPUTE" }, { 24, "KEYCTL_PKEY_QUERY" },
	{ 25, "KEYCTL_PKEY_ENCRYPT" }, { 26, "KEYCTL_PKEY_DECRYPT" }, { 27, "KEYCTL_PKEY_SIGN" },
	{ 28, "KEYCTL_PKEY_VERIFY" }, { 29, "KEYCTL_RESTRICT_KEYRING" }, { 30, "KEYCTL_MOVE" },
	{ 31, "KEYCTL_CAPABILITIES" }, { 32, "KEYCTL_WATCH_KEY" },
	{ 0, NULL }
};

const struct flag_name flags_keyring[] = {
	{ (u32)-1, "KEY_SPEC_THREAD_KEYRING" }, { (u32)-2, "KEY_SPEC_PROCESS_KEYRING" },
	{ (u32)-3, "KEY_SPEC_SESSION_KEYRING" }, { (u32)-4, "KEY_SPEC_USER_KEYRING" },
	{ (u32)-5, "KEY_SPEC_USER_SESSION_KEYRING" }, { (u32)-6, "KEY_SPEC_GROUP_KEYRING" },
	{ (u32)-7, "KEY_SPEC_REQKEY_AUTH_KEY" }, { (u32)-8, "KEY_SPEC_REQUESTOR_KEYRING" },
	{ 0, NULL }
};

const struct flag_name flags_finit_module_flags[] = {
	{ 0x1, "MODULE_INIT_IGNORE_MODVERSIONS" }, { 0x2, "MODULE_INIT_IGNORE_VERMAGIC" },
	{ 0x4, "MODULE_INIT_COMPRESSED_FILE" },
	{ 0, NULL }
};

const struct flag_name flags_delete_module_flags[] = {
	{ 04000, "O_NONBLOCK" }, { 01000, "O_TRUNC" },
	{ 0, NULL }
};

const struct flag_name flags_memfd_secret_flags[] = {
	{ 02000000, "O_CLOEXEC" },
	{ 0, NULL }
};

const struct flag_name flags_setns_flags[] = {
	{ 0x80, "CLONE_NEWTIME" }, { 0x20000, "CLONE_NEWNS" }, { 0x2000000, "CLONE_NEWCGROUP" },
	{ 0x4000000, "CLONE_NEWUTS" }, { 0x8000000, "CLONE_NEWIPC" },
	{ 0x10000000, "CLONE_NEWUSER" }, { 0x20000000, "CLONE_NEWPID" },
	{ 0x40000000, "CLONE_NEWNET" },
	{ 0, NULL }
};

const struct flag_name flags_kexec_file_flags[] = {
	{ 0x1, "KEXEC_FILE_UNLOAD" }, { 0x2, "KEXEC_FILE_ON_CRASH" },
	{ 0x4, "KEXEC_FILE_NO_INITRAMFS" },
	{ 0, NULL }
};

const struct flag_name flags_pkey_rights[] = {
	{ 0x1, "PKEY_DISABLE_ACCESS" }, { 0x2, "PKEY_DISABLE_WRITE" },
	{ 0x4, "PKEY_DISABLE_EXECUTE" },
	{ 0, NULL }
};

const struct flag_name flags_swap_flags[] = {
	{ 0x8000, "SWAP_FLAG_PREFER" }, { 0x10000, "SWAP_FLAG_DISCARD" },
	{ 0x20000, "SWAP_FLAG_DISCARD_ONCE" }, { 0x40000, "SWAP_FLAG_DISCARD_PAGES" },
	{ 0, NULL }
};

const struct flag_name flags_syslog_action[] = {
	{ 0, "SYSLOG_ACTION_CLOSE" }, { 1, "SYSLOG_ACTION_OPEN" }, { 2, "SYSLOG_ACTION_READ" },
	{ 3, "SYSLOG_ACTION_READ_ALL" }, { 4, "SYSLOG_ACTION_READ_CLEAR" },
	{ 5, "SYSLOG_ACTION_CLEAR" }, { 6, "SYSLOG_ACTION_CONSOLE_OFF" },
	{ 7, "SYSLOG_ACTION_CONSOLE_ON" }, { 8, "SYSLOG_ACTION_CONSOLE_LEVEL" },
	{ 9, "SYSLOG_ACTION_SIZE_UNREAD" }, { 10, "SYSLOG_ACTION_SIZE_BUFFER" },
	{ 0, NULL }
};

const struct flag_name flags_personality[] = {
	{ 0, "PER_LINUX" }, { 8, "PER_LINUX32" },
	{ 0, NULL }
};

const struct flag_name flags_personality_flags[] = {
	{ 0x20000, "UNAME26" }, { 0x40000, "ADDR_NO_RANDOMIZE" }, { 0x80000, "FDPIC_FUNCPTRS" },
	{ 0x100000, "MMAP_PAGE_ZERO" }, { 0x200000, "ADDR_COMPAT_LAYOUT" },
	{ 0x400000, "READ_IMPLIES_EXEC" }, { 0x800000, "ADDR_LIMIT_32BIT" },
	{ 0x1000000, "SHORT_INODE" }, { 0x2000000, "WHOLE_SECONDS" },
	{ 0x4000000, "STICKY_TIMEOUTS" }, { 0x8000000, "ADDR_LIMIT_3GB" },
	{ 0, NULL }
};

const struct flag_name flags_quota_command[] = {
	{ 8388609, "Q_SYNC" }, { 8388610, "Q_QUOTAON" }, { 8388611, "Q_QUOTAOFF" },
	{ 8388612, "Q_GETFMT" }, { 8388613, "Q_GETINFO" }, { 8388614, "Q_SETINFO" },
	{ 8388615, "Q_GETQUOTA" }, { 8388616, "Q_SETQUOTA" }, { 8388617, "Q_GETNEXTQUOTA" },
	{ 0, NULL }
};

const struct flag_name flags_quota_type[] = {
	{ 0, "USRQUOTA" }, { 1, "GRPQUOTA" }, { 2, "PRJQUOTA" },
	{ 0, NULL }
};

const struct flag_name flags_io_uring_register_operation[] = {
	{ 0, "IORING_REGISTER_BUFFERS" }, { 1, "IORING_UNREGISTER_BUFFERS" },
	{ 2, "IORING_REGISTER_FILES" }, { 3, "IORING_UNREGISTER_FILES" },
	{ 4, "IORING_REGISTER_EVENTFD" }, { 5, "IORING_UNREGISTER_EVENTFD" },
	{ 6, "IORING_REGISTER_FILES_UPDATE" }, { 7, "IORING_REGISTER_EVENTFD_ASYNC" },
	{ 8, "IORING_REGISTER_PROBE" }, { 9, "IORING_REGISTER_PERSONALITY" },
	{ 10, "IORING_UNREGISTER_PERSONALITY" }, { 11, "IORING_REGISTER_RESTRICTIONS" },
	{ 12, "IORING_REGISTER_ENABLE_RINGS" }, { 13, "IORING_REGISTER_FILES2" },
	{ 14, "IORING_REGISTER_FILES_UPDATE2" }, { 15, "IORING_REGISTER_BUFFERS2" },
	{ 16, "IORING_REGISTER_BUFFERS_UPDATE" }, { 17, "IORING_REGISTER_IOWQ_AFF" },
	{ 18, "IORING_UNREGISTER_IOWQ_AFF" }, { 19, "IORING_REGISTER_IOWQ_MAX_WORKERS" },
	{ 20, "IORING_REGISTER_RING_FDS" }, { 21, "IORING_UNREGISTER_RING_FDS" },
	{ 22, "IORING_REGISTER_PBUF_RING" }, { 23, "IORING_UNREGISTER_PBUF_RING" },
	{ 24, "IORING_REGISTER_SYNC_CANCEL" }, { 25, "IORING_REGISTER_FILE_ALLOC_RANGE" },
	{ 26, "IORING_REGISTER_PBUF_STATUS" }, { 27, "IORING_REGISTER_NAPI" },
	{ 28, "IORING_UNREGISTER_NAPI" },
	{ 0, NULL }
};

/* clang-format on */
