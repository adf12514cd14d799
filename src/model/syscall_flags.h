/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the names of flags and other constants in arguments of system calls. The tables
 * are in syscall_flags.c, syscall_flags_rare.c and syscall_ioctls.c.
 */
#ifndef MODEL_SYSCALL_FLAGS_H
#define MODEL_SYSCALL_FLAGS_H

#include <stdbool.h>

#include "record/record.h"

struct flag_name {
	u64 value;
	const char *name;
};

/*
 * One set of constants. Its table ends with a NULL name. In a set of flags each entry is
 * one or more bits; entries with more bits come first, and an entry 0 is the name for no
 * bit. `unknown` is the text of strace for a value without a name.
 */
struct flag_set {
	const struct flag_name *names;
	const char *unknown;
};

/* F(set, is a bit mask (1: of 32 bits, 2: of 64) or names (0), text for unknown values) */
#define SYSCALL_FLAG_SETS(F)                                                                       \
	F(access_mode, 1, "?_OK")                                                                  \
	F(at_flags, 1, "AT_???")                                                                   \
	F(statx_flags, 1, "AT_???")                                                                \
	F(faccessat_flags, 1, "AT_???")                                                            \
	F(handle_flags, 1, "AT_???")                                                               \
	F(mount_flags, 2, "MS_???")                                                                \
	F(umount_flags, 1, "MNT_???")                                                              \
	F(seals, 1, "F_SEAL_???")                                                                  \
	F(lease, 0, "F_???")                                                                       \
	F(shm_get_flags, 1, "SHM_???")                                                             \
	F(sem_get_flags, 1, "IPC_???")                                                             \
	F(msg_get_flags, 1, "IPC_???")                                                             \
	F(ptrace_request, 0, "PTRACE_???")                                                         \
	F(bpf_command, 0, "BPF_???")                                                               \
	F(mmap_prot, 2, "PROT_???")                                                                \
	F(mmap_flags, 1, "MAP_???")                                                                \
	F(mremap_flags, 2, "MREMAP_???")                                                           \
	F(msync_flags, 1, "MS_???")                                                                \
	F(madvise_advice, 0, "MADV_???")                                                           \
	F(fadvise_advice, 0, "POSIX_FADV_???")                                                     \
	F(open_flags, 1, "O_???")                                                                  \
	F(whence, 0, "SEEK_???")                                                                   \
	F(fcntl_command, 0, "F_???")                                                               \
	F(flock_operation, 1, "LOCK_???")                                                          \
	F(socket_family, 0, "AF_???")                                                              \
	F(socket_kind, 0, "SOCK_???")                                                              \
	F(socket_flags, 1, "SOCK_???")                                                             \
	F(inet_protocol, 0, "IPPROTO_???")                                                         \
	F(netlink_protocol, 0, "NETLINK_???")                                                      \
	F(shutdown_how, 0, "SHUT_???")                                                             \
	F(message_flags, 1, "MSG_???")                                                             \
	F(socket_level, 0, "SOL_??")                                                               \
	F(socket_options, 0, "SO_???")                                                             \
	F(ip_options, 0, "IP_???")                                                                 \
	F(ipv6_options, 0, "IPV6_???")                                                             \
	F(tcp_options, 0, "TCP_???")                                                               \
	F(epoll_operation, 0, "EPOLL_CTL_???")                                                     \
	F(epoll_create_flags, 1, "EPOLL_???")                                                      \
	F(eventfd_flags, 1, "EFD_???")                                                             \
	F(signalfd_flags, 1, "SFD_???")                                                            \
	F(timerfd_flags, 1, "TFD_???")                                                             \
	F(timer_flags, 1, "TIMER_???")                                                             \
	F(clock, 0, "CLOCK_???")                                                                   \
	F(itimer, 0, "ITIMER_???")                                                                 \
	F(futex_command, 0, "FUTEX_???")                                                           \
	F(clone_flags, 1, "CLONE_???")                                                             \
	F(unshare_flags, 2, "CLONE_???")                                                           \
	F(wait_flags, 1, "W???")                                                                   \
	F(waitid_type, 0, "P_???")                                                                 \
	F(signal, 0, "SIG???")                                                                     \
	F(sigmask_how, 0, "SIG_???")                                                               \
	F(ioctl_request, 0, "")                                                                    \
	F(rlimit_resource, 0, "RLIMIT_???")                                                        \
	F(rusage_who, 0, "RUSAGE_???")                                                             \
	F(priority_which, 0, "PRIO_???")                                                           \
	F(scheduler_policy, 0, "SCHED_???")                                                        \
	F(inotify_flags, 1, "IN_???")                                                              \
	F(inotify_mask, 1, "IN_???")                                                               \
	F(getrandom_flags, 1, "GRND_???")                                                          \
	F(memfd_flags, 1, "MFD_???")                                                               \
	F(splice_flags, 1, "SPLICE_F_???")                                                         \
	F(fallocate_mode, 1, "FALLOC_FL_???")                                                      \
	F(rename_flags, 1, "RENAME_??")                                                            \
	F(statx_mask, 1, "STATX_???")                                                              \
	F(read_write_flags, 1, "RWF_???")                                                          \
	F(close_range_flags, 1, "CLOSE_RANGE_???")                                                 \
	F(mlockall_flags, 1, "MCL_???")                                                            \
	F(arch_prctl_code, 0, "ARCH_???")                                                          \
	F(fd_flags, 1, "FD_???")                                                                   \
	F(sync_range_flags, 1, "SYNC_FILE_RANGE_???")                                              \
	F(io_uring_enter_flags, 1, "IORING_ENTER_???")                                             \
	F(xattr_flags, 1, "XATTR_???")                                                             \
	F(msg_flags, 1, "MSG_???")                                                                 \
	F(msg_command, 0, "MSG_???")                                                               \
	F(sem_command, 0, "SEM_???")                                                               \
	F(shm_command, 0, "SHM_???")                                                               \
	F(shm_at_flags, 1, "SHM_???")                                                              \
	F(mempolicy_mode, 0, "MPOL_???")                                                           \
	F(mempolicy_mode_flags, 2, "MPOL_???")                                                     \
	F(mempolicy_flags, 2, "MPOL_???")                                                          \
	F(mbind_flags, 1, "MPOL_???")                                                              \
	F(move_pages_flags, 1, "MPOL_???")                                                         \
	F(fanotify_class, 0, "FAN_CLASS_???")                                                      \
	F(fanotify_init_flags, 1, "FAN_???")                                                       \
	F(fanotify_mark_flags, 1, "FAN_MARK_???")                                                  \
	F(fanotify_mask, 2, "FAN_???")                                                             \
	F(userfaultfd_flags, 1, "UFFD_???")                                                        \
	F(pidfd_flags, 1, "PIDFD_???")                                                             \
	F(kcmp_type, 0, "KCMP_???")                                                                \
	F(perf_flags, 2, "PERF_FLAG_???")                                                          \
	F(mlock_flags, 1, "MLOCK_???")                                                             \
	F(node_type, 0, "")                                                                        \
	F(capability, 0, "CAP_???")                                                                \
	F(secure_bits, 1, "SECBIT_???")                                                            \
	F(ambient_command, 0, "PR_CAP_AMBIENT_???")                                                \
	F(dumpable, 0, "SUID_DUMP_???")                                                            \
	F(seccomp_mode, 0, "SECCOMP_MODE_???")                                                     \
	F(udp_options, 0, "UDP_???")                                                               \
	F(packet_options, 0, "PACKET_???")                                                         \
	F(netlink_options, 0, "NETLINK_???")                                                       \
	F(prctl_option, 0, "PR_???")                                                               \
	F(file_flags, 1, "O_???")                                                                  \
	F(mount_at_flags, 1, "AT_???")                                                             \
	F(fsopen_flags, 1, "FSOPEN_???")                                                           \
	F(fsmount_flags, 1, "FSMOUNT_???")                                                         \
	F(fspick_flags, 1, "FSPICK_???")                                                           \
	F(fsconfig_command, 0, "FSCONFIG_???")                                                     \
	F(mount_attributes, 1, "MOUNT_ATTR_???")                                                   \
	F(open_tree_flags, 1, "OPEN_TREE_???")                                                     \
	F(move_mount_flags, 1, "MOVE_MOUNT_???")                                                   \
	F(membarrier_command, 0, "MEMBARRIER_CMD_???")                                             \
	F(membarrier_flags, 1, "MEMBARRIER_CMD_FLAG_???")                                          \
	F(landlock_flags, 1, "LANDLOCK_CREATE_RULESET_???")                                        \
	F(landlock_rule, 0, "LANDLOCK_RULE_???")                                                   \
	F(ioprio_who, 0, "IOPRIO_WHO_???")                                                         \
	F(ioprio_class, 0, "IOPRIO_CLASS_???")                                                     \
	F(seccomp_operation, 0, "SECCOMP_SET_MODE_???")                                            \
	F(seccomp_flags, 1, "SECCOMP_FILTER_FLAG_???")                                             \
	F(reboot_magic, 0, "LINUX_REBOOT_MAGIC_???")                                               \
	F(reboot_command, 0, "LINUX_REBOOT_CMD_???")                                               \
	F(keyctl_operation, 0, "KEYCTL_???")                                                       \
	F(keyring, 0, "KEY_SPEC_???")                                                              \
	F(finit_module_flags, 1, "MODULE_INIT_???")                                                \
	F(delete_module_flags, 1, "O_???")                                                         \
	F(memfd_secret_flags, 1, NULL)                                                             \
	F(setns_flags, 1, "CLONE_NEW???")                                                          \
	F(kexec_file_flags, 2, "KEXEC_FILE_???")                                                   \
	F(pkey_rights, 2, "PKEY_???")                                                              \
	F(swap_flags, 1, "SWAP_FLAG_???")                                                          \
	F(syslog_action, 0, "SYSLOG_ACTION_???")                                                   \
	F(personality, 0, "PER_???")                                                               \
	F(personality_flags, 1, "")                                                                \
	F(quota_command, 0, "Q_???")                                                               \
	F(quota_type, 0, "???QUOTA")                                                               \
	F(io_uring_register_operation, 0, "IORING_REGISTER_???")                                   \
	F(poll_events, 1, "POLL???")

#define F(set, mask, unknown)                                                                      \
	extern const struct flag_name flags_##set[];                                               \
	extern const struct flag_set set_##set;
SYSCALL_FLAG_SETS(F)
#undef F

/* The third argument of an ioctl request in syscall_ioctls.c. */
bool ioctl_has_argument(u32 request); /* false only if the request is known to take none */
bool ioctl_takes_number(u32 request); /* it is a number or a descriptor, not an address */

#endif
