/* SPDX-License-Identifier: Apache-2.0 */
/* Constants by name. If the headers of libc lack or redefine one, the kernel's value is given. */
#include "model/syscall_flags.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N(constant)                                                                                \
	{                                                                                          \
		(u64)(u32)(constant), #constant                                                    \
	}

/* clang-format off */
const struct flag_name flags_access_mode[] = {
	{ 0, "F_OK" }, N(R_OK), N(W_OK), N(X_OK),
	{ 0, NULL }
};

const struct flag_name flags_at_flags[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_REMOVEDIR), N(AT_SYMLINK_FOLLOW), N(AT_NO_AUTOMOUNT),
	N(AT_EMPTY_PATH), N(AT_RECURSIVE),
	{ 0, NULL }
};

const struct flag_name flags_statx_flags[] = {
	N(AT_STATX_FORCE_SYNC), N(AT_STATX_DONT_SYNC), N(AT_SYMLINK_NOFOLLOW), N(AT_REMOVEDIR),
	N(AT_SYMLINK_FOLLOW), N(AT_NO_AUTOMOUNT), N(AT_EMPTY_PATH), N(AT_RECURSIVE),
	{ 0, NULL }
};

const struct flag_name flags_faccessat_flags[] = {
	N(AT_SYMLINK_NOFOLLOW), { 0x200, "AT_EACCESS" }, N(AT_EMPTY_PATH),
	{ 0, NULL }
};

const struct flag_name flags_handle_flags[] = {
	N(AT_SYMLINK_FOLLOW), N(AT_EMPTY_PATH), { 0x200, "AT_HANDLE_FID" },
	{ 1, "AT_HANDLE_MNT_ID_UNIQUE" }, { 2, "AT_HANDLE_CONNECTABLE" },
	{ 0, NULL }
};

const struct flag_name flags_mmap_prot[] = {
	{ 0, "PROT_NONE" }, N(PROT_READ), N(PROT_WRITE), N(PROT_EXEC), { 8, "PROT_SEM" }, N(PROT_GROWSDOWN),
	N(PROT_GROWSUP),
	{ 0, NULL }
};

const struct flag_name flags_mmap_flags[] = {
	N(MAP_SHARED_VALIDATE), N(MAP_SHARED), N(MAP_PRIVATE), N(MAP_FIXED), N(MAP_ANONYMOUS),
	N(MAP_32BIT), N(MAP_NORESERVE), N(MAP_POPULATE), N(MAP_NONBLOCK), N(MAP_GROWSDOWN),
	N(MAP_DENYWRITE), N(MAP_EXECUTABLE), N(MAP_LOCKED), N(MAP_STACK), N(MAP_HUGETLB),
	N(MAP_SYNC), N(MAP_FIXED_NOREPLACE),
	{ 0, NULL }
};

const struct flag_name flags_mremap_flags[] = {
	N(MREMAP_MAYMOVE), N(MREMAP_FIXED), N(MREMAP_DONTUNMAP),
	{ 0, NULL }
};

const struct flag_name flags_msync_flags[] = {
	N(MS_SYNC), N(MS_ASYNC), N(MS_INVALIDATE),
	{ 0, NULL }
};

const struct flag_name flags_madvise_advice[] = {
	N(MADV_NORMAL), N(MADV_RANDOM), N(MADV_SEQUENTIAL), N(MADV_WILLNEED), N(MADV_DONTNEED),
	N(MADV_FREE), N(MADV_REMOVE), N(MADV_DONTFORK), N(MADV_DOFORK), N(MADV_MERGEABLE),
	N(MADV_UNMERGEABLE), N(MADV_HUGEPAGE), N(MADV_NOHUGEPAGE), N(MADV_DONTDUMP),
	N(MADV_DODUMP), N(MADV_WIPEONFORK), N(MADV_KEEPONFORK), N(MADV_COLD), N(MADV_PAGEOUT),
	N(MADV_POPULATE_READ), N(MADV_POPULATE_WRITE), { 24, "MADV_DONTNEED_LOCKED" },
	{ 25, "MADV_COLLAPSE" }, N(MADV_HWPOISON), { 101, "MADV_SOFT_OFFLINE" },
	{ 102, "MADV_GUARD_INSTALL" }, { 103, "MADV_GUARD_REMOVE" },
	{ 0, NULL }
};

const struct flag_name flags_fadvise_advice[] = {
	N(POSIX_FADV_NORMAL), N(POSIX_FADV_RANDOM), N(POSIX_FADV_SEQUENTIAL),
	N(POSIX_FADV_WILLNEED), N(POSIX_FADV_DONTNEED), N(POSIX_FADV_NOREUSE),
	{ 0, NULL }
};

#define FILE_FLAGS                                                                                 \
	N(O_CREAT), N(O_EXCL), N(O_NOCTTY), N(O_TRUNC), N(O_APPEND), N(O_NONBLOCK), N(O_SYNC),     \
	N(O_DSYNC), { 04000000, "__O_SYNC" }, N(O_DIRECT), { 0100000, "O_LARGEFILE" },             \
	N(O_NOFOLLOW), N(O_NOATIME), N(O_CLOEXEC), N(O_PATH), N(O_TMPFILE),                        \
	{ 020000000, "__O_TMPFILE" }, N(O_DIRECTORY), N(FASYNC),

const struct flag_name flags_open_flags[] = {
	FILE_FLAGS
	{ 0, NULL }
};

/* The same where no access mode is among them. */
const struct flag_name flags_file_flags[] = {
	FILE_FLAGS
	{ 0, NULL }
};

const struct flag_name flags_whence[] = {
	N(SEEK_SET), N(SEEK_CUR), N(SEEK_END), N(SEEK_DATA), N(SEEK_HOLE),
	{ 0, NULL }
};

const struct flag_name flags_fcntl_command[] = {
	N(F_DUPFD), N(F_GETFD), N(F_SETFD), N(F_GETFL), N(F_SETFL), { 5, "F_GETLK" },
	{ 6, "F_SETLK" }, { 7, "F_SETLKW" }, { 12, "F_GETLK64" }, { 13, "F_SETLK64" },
	{ 14, "F_SETLKW64" }, N(F_SETOWN), N(F_GETOWN), N(F_SETSIG), N(F_GETSIG),
	N(F_SETOWN_EX), N(F_GETOWN_EX), { 17, "F_GETOWNER_UIDS" }, N(F_OFD_GETLK),
	N(F_OFD_SETLK), N(F_OFD_SETLKW), N(F_SETLEASE), N(F_GETLEASE), N(F_NOTIFY), N(F_DUPFD_CLOEXEC),
	N(F_SETPIPE_SZ),
	N(F_GETPIPE_SZ), N(F_ADD_SEALS), N(F_GET_SEALS), N(F_GET_RW_HINT), N(F_SET_RW_HINT),
	{ 0, NULL }
};

const struct flag_name flags_flock_operation[] = {
	N(LOCK_SH), N(LOCK_EX), N(LOCK_NB), N(LOCK_UN), { 32, "LOCK_MAND" },
	{ 192, "LOCK_RW" }, { 64, "LOCK_READ" }, { 128, "LOCK_WRITE" },
	{ 0, NULL }
};

const struct flag_name flags_socket_family[] = {
	N(AF_UNSPEC), N(AF_UNIX), N(AF_INET), N(AF_INET6), N(AF_NETLINK), N(AF_PACKET),
	N(AF_VSOCK), N(AF_BLUETOOTH), N(AF_ALG), N(AF_XDP), N(AF_CAN), N(AF_KEY), N(AF_TIPC),
	N(AF_RDS), N(AF_AX25), N(AF_IPX), N(AF_APPLETALK), N(AF_NETROM), N(AF_BRIDGE), N(AF_ATMPVC),
	N(AF_X25), N(AF_ROSE), { 12, "AF_DECnet" }, N(AF_NETBEUI), N(AF_SECURITY), N(AF_ASH),
	N(AF_ECONET), N(AF_ATMSVC), N(AF_SNA), N(AF_IRDA), N(AF_PPPOX), N(AF_WANPIPE), N(AF_LLC),
	N(AF_IB), N(AF_MPLS), N(AF_IUCV), N(AF_RXRPC), N(AF_ISDN), N(AF_PHONET), N(AF_IEEE802154),
	N(AF_CAIF), N(AF_NFC), N(AF_KCM), N(AF_QIPCRTR), N(AF_SMC), { 45, "AF_MCTP" },
	{ 0, NULL }
};

const struct flag_name flags_socket_kind[] = {
	N(SOCK_STREAM), N(SOCK_DGRAM), N(SOCK_RAW), N(SOCK_RDM), N(SOCK_SEQPACKET), N(SOCK_DCCP),
	N(SOCK_PACKET),
	{ 0, NULL }
};

const struct flag_name flags_socket_flags[] = {
	N(SOCK_CLOEXEC), N(SOCK_NONBLOCK),
	{ 0, NULL }
};

const struct flag_name flags_inet_protocol[] = {
	N(IPPROTO_IP), N(IPPROTO_ICMP), N(IPPROTO_IGMP), N(IPPROTO_TCP), N(IPPROTO_UDP),
	N(IPPROTO_IPV6), N(IPPROTO_ICMPV6), N(IPPROTO_SCTP), N(IPPROTO_UDPLITE), N(IPPROTO_RAW),
	N(IPPROTO_MPTCP), N(IPPROTO_DCCP),
	{ 0, NULL }
};

const struct flag_name flags_netlink_protocol[] = {
	N(NETLINK_ROUTE), N(NETLINK_USERSOCK), N(NETLINK_FIREWALL), N(NETLINK_SOCK_DIAG),
	N(NETLINK_NFLOG), N(NETLINK_XFRM), N(NETLINK_SELINUX), N(NETLINK_ISCSI), N(NETLINK_AUDIT),
	N(NETLINK_FIB_LOOKUP), N(NETLINK_CONNECTOR), N(NETLINK_NETFILTER),
	N(NETLINK_KOBJECT_UEVENT), N(NETLINK_GENERIC), N(NETLINK_CRYPTO),
	{ 0, NULL }
};

const struct flag_name flags_shutdown_how[] = {
	N(SHUT_RD), N(SHUT_WR), N(SHUT_RDWR),
	{ 0, NULL }
};

const struct flag_name flags_message_flags[] = {
	N(MSG_OOB), N(MSG_PEEK), N(MSG_DONTROUTE), N(MSG_CTRUNC), { MSG_PROXY, "MSG_PROBE" }, N(MSG_TRUNC),
	N(MSG_DONTWAIT), N(MSG_EOR), N(MSG_WAITALL), N(MSG_FIN), N(MSG_SYN), N(MSG_CONFIRM),
	N(MSG_RST), N(MSG_ERRQUEUE), N(MSG_NOSIGNAL), N(MSG_MORE), N(MSG_WAITFORONE),
	{ 0x20000, "MSG_SENDPAGE_NOTLAST" }, N(MSG_BATCH), { 0x80000, "MSG_NO_SHARED_FRAGS" },
	N(MSG_ZEROCOPY), N(MSG_FASTOPEN), N(MSG_CMSG_CLOEXEC), { 0x80000000, "MSG_CMSG_COMPAT" },
	{ 0, NULL }
};

const struct flag_name flags_socket_level[] = {
	N(SOL_IP), N(SOL_SOCKET), { 6, "SOL_TCP" }, { 17, "SOL_UDP" }, { 41, "SOL_IPV6" },
	N(SOL_ICMPV6), N(SOL_RAW), N(SOL_PACKET), N(SOL_NETLINK), { 100, "SOL_CAN_CHECKPOINT" },
	{ 101, "SOL_CAN_RAW" }, { 132, "SOL_SCTP" }, { 136, "SOL_UDPLITE" }, { 256, "SOL_IPX" },
	{ 257, "SOL_AX25" }, { 258, "SOL_ATALK" }, { 259, "SOL_NETROM" }, { 260, "SOL_ROSE" },
	{ 261, "SOL_DECNET" }, { 262, "SOL_X25" }, { 264, "SOL_ATM" }, { 265, "SOL_AAL" },
	{ 266, "SOL_IRDA" }, { 267, "SOL_NETBEUI" }, { 268, "SOL_LLC" }, { 269, "SOL_DCCP" },
	{ 271, "SOL_TIPC" }, { 272, "SOL_RXRPC" }, { 273, "SOL_PPPOL2TP" },
	{ 274, "SOL_BLUETOOTH" }, { 275, "SOL_PNPIPE" }, { 276, "SOL_RDS" }, { 277, "SOL_IUCV" },
	{ 278, "SOL_CAIF" }, { 279, "SOL_ALG" }, { 280, "SOL_NFC" }, { 281, "SOL_KCM" },
	{ 282, "SOL_TLS" }, { 283, "SOL_XDP" }, { 284, "SOL_MPTCP" }, { 285, "SOL_MCTP" },
	{ 286, "SOL_SMC" },
	{ 0, NULL }
};

const struct flag_name flags_socket_options[] = {
	N(SO_DEBUG), N(SO_REUSEADDR), N(SO_TYPE), N(SO_ERROR), N(SO_DONTROUTE), N(SO_BROADCAST),
	N(SO_SNDBUF), N(SO_RCVBUF), N(SO_KEEPALIVE), N(SO_OOBINLINE), N(SO_NO_CHECK),
	N(SO_PRIORITY), N(SO_LINGER), N(SO_BSDCOMPAT), N(SO_REUSEPORT), N(SO_PASSCRED),
	N(SO_PEERCRED), N(SO_RCVLOWAT), N(SO_SNDLOWAT), { 20, "SO_RCVTIMEO_OLD" },
	{ 21, "SO_SNDTIMEO_OLD" }, N(SO_BINDTODEVICE), N(SO_ATTACH_FILTER), N(SO_DETACH_FILTER),
	N(SO_PEERNAME), N(SO_ACCEPTCONN), N(SO_PEERSEC), N(SO_SNDBUFFORCE), N(SO_RCVBUFFORCE),
	N(SO_PASSSEC), N(SO_MARK), N(SO_PROTOCOL), N(SO_DOMAIN), N(SO_RXQ_OVFL), N(SO_PEEK_OFF),
	N(SO_BUSY_POLL), N(SO_INCOMING_CPU), N(SO_COOKIE), N(SO_ZEROCOPY),
	{ 22, "SO_SECURITY_AUTHENTICATION" }, { 23, "SO_SECURITY_ENCRYPTION_TRANSPORT" },
	{ 24, "SO_SECURITY_ENCRYPTION_NETWORK" }, { 29, "SO_TIMESTAMP_OLD" },
	{ 35, "SO_TIMESTAMPNS_OLD" }, { 37, "SO_TIMESTAMPING_OLD" }, N(SO_WIFI_STATUS),
	N(SO_NOFCS), N(SO_LOCK_FILTER), N(SO_SELECT_ERR_QUEUE), N(SO_MAX_PACING_RATE),
	N(SO_BPF_EXTENSIONS), N(SO_ATTACH_BPF), N(SO_ATTACH_REUSEPORT_CBPF),
	N(SO_ATTACH_REUSEPORT_EBPF), N(SO_CNX_ADVICE), N(SO_MEMINFO), N(SO_INCOMING_NAPI_ID),
	N(SO_PEERGROUPS), N(SO_TXTIME), N(SO_BINDTOIFINDEX), { 63, "SO_TIMESTAMP_NEW" },
	{ 64, "SO_TIMESTAMPNS_NEW" }, { 65, "SO_TIMESTAMPING_NEW" }, { 66, "SO_RCVTIMEO_NEW" },
	{ 67, "SO_SNDTIMEO_NEW" }, { 68, "SO_DETACH_REUSEPORT_BPF" }, { 69, "SO_PREFER_BUSY_POLL" },
	{ 70, "SO_BUSY_POLL_BUDGET" }, { 71, "SO_NETNS_COOKIE" }, { 72, "SO_BUF_LOCK" },
	{ 73, "SO_RESERVE_MEM" }, { 74, "SO_TXREHASH" }, { 75, "SO_RCVMARK" },
	{ 76, "SO_PASSPIDFD" }, { 77, "SO_PEERPIDFD" },
	{ 0, NULL }
};

const struct flag_name flags_ip_options[] = {
	N(IP_TOS), N(IP_TTL), N(IP_HDRINCL), N(IP_OPTIONS), N(IP_ROUTER_ALERT), N(IP_RECVOPTS),
	N(IP_RETOPTS), N(IP_PKTINFO), N(IP_PKTOPTIONS), N(IP_MTU_DISCOVER), N(IP_RECVERR),
	N(IP_RECVTTL), N(IP_RECVTOS), N(IP_MTU), N(IP_FREEBIND), N(IP_IPSEC_POLICY),
	N(IP_XFRM_POLICY), N(IP_PASSSEC), N(IP_TRANSPARENT), N(IP_ORIGDSTADDR), N(IP_MINTTL),
	N(IP_NODEFRAG), N(IP_CHECKSUM), N(IP_BIND_ADDRESS_NO_PORT), N(IP_RECVFRAGSIZE),
	N(IP_MULTICAST_IF), N(IP_MULTICAST_TTL), N(IP_MULTICAST_LOOP), N(IP_ADD_MEMBERSHIP),
	N(IP_DROP_MEMBERSHIP), N(IP_UNBLOCK_SOURCE), N(IP_BLOCK_SOURCE),
	N(IP_ADD_SOURCE_MEMBERSHIP), N(IP_DROP_SOURCE_MEMBERSHIP), N(IP_MSFILTER),
	N(MCAST_JOIN_GROUP), N(MCAST_BLOCK_SOURCE), N(MCAST_UNBLOCK_SOURCE), N(MCAST_LEAVE_GROUP),
	N(MCAST_JOIN_SOURCE_GROUP), N(MCAST_LEAVE_SOURCE_GROUP), N(MCAST_MSFILTER),
	N(IP_MULTICAST_ALL), N(IP_UNICAST_IF), { 26, "IP_RECVERR_RFC4884" },
	{ 0, NULL }
};

const struct flag_name flags_ipv6_options[] = {
	N(IPV6_ADDRFORM), N(IPV6_2292PKTINFO), N(IPV6_2292HOPOPTS), N(IPV6_2292DSTOPTS),
	N(IPV6_2292RTHDR), N(IPV6_2292PKTOPTIONS), N(IPV6_CHECKSUM), N(IPV6_2292HOPLIMIT),
	N(IPV6_NEXTHOP), N(IPV6_AUTHHDR), N(IPV6_UNICAST_HOPS), N(IPV6_MULTICAST_IF),
	N(IPV6_MULTICAST_HOPS), N(IPV6_MULTICAST_LOOP), N(IPV6_ADD_MEMBERSHIP),
	N(IPV6_DROP_MEMBERSHIP), N(IPV6_ROUTER_ALERT), N(IPV6_MTU_DISCOVER), N(IPV6_MTU),
	N(IPV6_RECVERR), N(IPV6_V6ONLY), N(IPV6_JOIN_ANYCAST), N(IPV6_LEAVE_ANYCAST),
	N(IPV6_IPSEC_POLICY), N(IPV6_XFRM_POLICY), N(IPV6_HDRINCL), N(IPV6_RECVPKTINFO),
	N(IPV6_PKTINFO), N(IPV6_RECVHOPLIMIT), N(IPV6_HOPLIMIT), N(IPV6_RECVHOPOPTS),
	N(IPV6_HOPOPTS), N(IPV6_RTHDRDSTOPTS), N(IPV6_RECVRTHDR), N(IPV6_RTHDR),
	N(IPV6_RECVDSTOPTS), N(IPV6_DSTOPTS), N(IPV6_RECVPATHMTU), N(IPV6_PATHMTU),
	N(IPV6_DONTFRAG), N(IPV6_RECVTCLASS), N(IPV6_TCLASS), N(IPV6_AUTOFLOWLABEL),
	N(IPV6_ADDR_PREFERENCES), N(IPV6_MINHOPCOUNT), N(IPV6_ORIGDSTADDR), N(IPV6_TRANSPARENT),
	N(IPV6_UNICAST_IF), N(IPV6_RECVFRAGSIZE), N(IPV6_FREEBIND), { 11, "IPV6_FLOWINFO" },
	{ 29, "IPV6_MULTICAST_ALL" }, { 30, "IPV6_ROUTER_ALERT_ISOLATE" },
	{ 31, "IPV6_RECVERR_RFC4884" }, { 32, "IPV6_FLOWLABEL_MGR" }, { 33, "IPV6_FLOWINFO_SEND" },
	N(MCAST_JOIN_GROUP), N(MCAST_BLOCK_SOURCE), N(MCAST_UNBLOCK_SOURCE), N(MCAST_LEAVE_GROUP),
	N(MCAST_JOIN_SOURCE_GROUP), N(MCAST_LEAVE_SOURCE_GROUP), N(MCAST_MSFILTER),
	{ 63, "IPV6_USE_MIN_MTU" },
	{ 0, NULL }
};

const struct flag_name flags_tcp_options[] = {
	N(TCP_NODELAY), N(TCP_MAXSEG), N(TCP_CORK), N(TCP_KEEPIDLE), N(TCP_KEEPINTVL),
	N(TCP_KEEPCNT), N(TCP_SYNCNT), N(TCP_LINGER2), N(TCP_DEFER_ACCEPT), N(TCP_WINDOW_CLAMP),
	N(TCP_INFO), N(TCP_QUICKACK), N(TCP_CONGESTION), N(TCP_USER_TIMEOUT), N(TCP_FASTOPEN),
	N(TCP_NOTSENT_LOWAT), N(TCP_ULP), { 14, "TCP_MD5SIG" }, { 15, "TCP_COOKIE_TRANSACTIONS" },
	{ 16, "TCP_THIN_LINEAR_TIMEOUTS" }, { 17, "TCP_THIN_DUPACK" }, { 19, "TCP_REPAIR" },
	{ 20, "TCP_REPAIR_QUEUE" }, { 21, "TCP_QUEUE_SEQ" }, { 22, "TCP_REPAIR_OPTIONS" },
	{ 24, "TCP_TIMESTAMP" }, { 26, "TCP_CC_INFO" }, { 27, "TCP_SAVE_SYN" },
	{ 28, "TCP_SAVED_SYN" }, { 29, "TCP_REPAIR_WINDOW" }, { 30, "TCP_FASTOPEN_CONNECT" },
	{ 32, "TCP_MD5SIG_EXT" }, { 33, "TCP_FASTOPEN_KEY" }, { 34, "TCP_FASTOPEN_NO_COOKIE" },
	{ 35, "TCP_ZEROCOPY_RECEIVE" }, { 36, "TCP_INQ" }, { 37, "TCP_TX_DELAY" },
	{ 0, NULL }
};

const struct flag_name flags_epoll_operation[] = {
	N(EPOLL_CTL_ADD), N(EPOLL_CTL_DEL), N(EPOLL_CTL_MOD),
	{ 0, NULL }
};

const struct flag_name flags_epoll_create_flags[] = {
	N(EPOLL_CLOEXEC),
	{ 0, NULL }
};

const struct flag_name flags_eventfd_flags[] = {
	N(EFD_SEMAPHORE), N(EFD_CLOEXEC), N(EFD_NONBLOCK),
	{ 0, NULL }
};

const struct flag_name flags_signalfd_flags[] = {
	N(SFD_CLOEXEC), N(SFD_NONBLOCK),
	{ 0, NULL }
};

const struct flag_name flags_timerfd_flags[] = {
	N(TFD_TIMER_ABSTIME), N(TFD_TIMER_CANCEL_ON_SET), N(TFD_CLOEXEC), N(TFD_NONBLOCK),
	{ 0, NULL }
};

const struct flag_name flags_timer_flags[] = {
	N(TIMER_ABSTIME),
	{ 0, NULL }
};

const struct flag_name flags_clock[] = {
	N(CLOCK_REALTIME), N(CLOCK_MONOTONIC), N(CLOCK_PROCESS_CPUTIME_ID),
	N(CLOCK_THREAD_CPUTIME_ID), N(CLOCK_MONOTONIC_RAW), N(CLOCK_REALTIME_COARSE),
	N(CLOCK_MONOTONIC_COARSE), N(CLOCK_BOOTTIME), N(CLOCK_REALTIME_ALARM),
	N(CLOCK_BOOTTIME_ALARM), { 10, "CLOCK_SGI_CYCLE" }, N(CLOCK_TAI),
	{ 0, NULL }
};

const struct flag_name flags_itimer[] = {
	N(ITIMER_REAL), N(ITIMER_VIRTUAL), N(ITIMER_PROF),
	{ 0, NULL }
};

const struct flag_name flags_futex_command[] = {
	N(FUTEX_WAIT), N(FUTEX_WAKE), N(FUTEX_FD), N(FUTEX_REQUEUE), N(FUTEX_CMP_REQUEUE),
	N(FUTEX_WAKE_OP), N(FUTEX_LOCK_PI), N(FUTEX_UNLOCK_PI), N(FUTEX_TRYLOCK_PI),
	N(FUTEX_WAIT_BITSET), N(FUTEX_WAKE_BITSET), N(FUTEX_WAIT_REQUEUE_PI),
	N(FUTEX_CMP_REQUEUE_PI), { 13, "FUTEX_LOCK_PI2" },
	{ 0, NULL }
};

const struct flag_name flags_clone_flags[] = {
	N(CLONE_VM), N(CLONE_FS), N(CLONE_FILES), N(CLONE_SIGHAND), N(CLONE_PIDFD),
	N(CLONE_PTRACE), N(CLONE_VFORK), N(CLONE_PARENT), N(CLONE_THREAD), N(CLONE_NEWNS),
	N(CLONE_SYSVSEM), N(CLONE_SETTLS), N(CLONE_PARENT_SETTID), N(CLONE_CHILD_CLEARTID),
	N(CLONE_UNTRACED), N(CLONE_CHILD_SETTID), N(CLONE_NEWCGROUP),
	N(CLONE_NEWUTS), N(CLONE_NEWIPC), N(CLONE_NEWUSER), N(CLONE_NEWPID), N(CLONE_NEWNET),
	N(CLONE_IO),
	{ 0, NULL }
};

const struct flag_name flags_unshare_flags[] = {
	{ 128, "CLONE_NEWTIME" }, N(CLONE_VM), N(CLONE_FS), N(CLONE_FILES), N(CLONE_SIGHAND),
	N(CLONE_THREAD), N(CLONE_NEWNS), N(CLONE_SYSVSEM), N(CLONE_NEWCGROUP), N(CLONE_NEWUTS),
	N(CLONE_NEWIPC), N(CLONE_NEWUSER), N(CLONE_NEWPID), N(CLONE_NEWNET),
	{ 0, NULL }
};

const struct flag_name flags_wait_flags[] = {
	N(WNOHANG), N(WEXITED), N(WSTOPPED), N(WCONTINUED), N(WNOWAIT), N(__WCLONE), N(__WALL),
	N(__WNOTHREAD),
	{ 0, NULL }
};

const struct flag_name flags_waitid_type[] = {
	N(P_ALL), N(P_PID), N(P_PGID), { 3, "P_PIDFD" },
	{ 0, NULL }
};

const struct flag_name flags_signal[] = {
	N(SIGHUP), N(SIGINT), N(SIGQUIT), N(SIGILL), N(SIGTRAP), N(SIGABRT), N(SIGBUS), N(SIGFPE),
	N(SIGKILL), N(SIGUSR1), N(SIGSEGV), N(SIGUSR2), N(SIGPIPE), N(SIGALRM), N(SIGTERM),
	N(SIGSTKFLT), N(SIGCHLD), N(SIGCONT), N(SIGSTOP), N(SIGTSTP), N(SIGTTIN), N(SIGTTOU),
	N(SIGURG), N(SIGXCPU), N(SIGXFSZ), N(SIGVTALRM), N(SIGPROF), N(SIGWINCH), N(SIGIO),
	N(SIGPWR), N(SIGSYS),
	{ 0, NULL }
};

const struct flag_name flags_sigmask_how[] = {
	N(SIG_BLOCK), N(SIG_UNBLOCK), N(SIG_SETMASK),
	{ 0, NULL }
};

const struct flag_name flags_rlimit_resource[] = {
	N(RLIMIT_CPU), N(RLIMIT_FSIZE), N(RLIMIT_DATA), N(RLIMIT_STACK), N(RLIMIT_CORE),
	N(RLIMIT_RSS), N(RLIMIT_NPROC), N(RLIMIT_NOFILE), N(RLIMIT_MEMLOCK), N(RLIMIT_AS),
	N(RLIMIT_LOCKS), N(RLIMIT_SIGPENDING), N(RLIMIT_MSGQUEUE), N(RLIMIT_NICE),
	N(RLIMIT_RTPRIO), N(RLIMIT_RTTIME),
	{ 0, NULL }
};

const struct flag_name flags_rusage_who[] = {
	N(RUSAGE_SELF), { 0xffffffff, "RUSAGE_CHILDREN" }, N(RUSAGE_THREAD),
	{ 0, NULL }
};

const struct flag_name flags_priority_which[] = {
	N(PRIO_PROCESS), N(PRIO_PGRP), N(PRIO_USER),
	{ 0, NULL }
};

const struct flag_name flags_scheduler_policy[] = {
	N(SCHED_OTHER), N(SCHED_FIFO), N(SCHED_RR), N(SCHED_BATCH), { 4, "SCHED_ISO" }, N(SCHED_IDLE),
	{ 6, "SCHED_DEADLINE" },
	{ 0, NULL }
};

const struct flag_name flags_inotify_flags[] = {
	N(IN_NONBLOCK), N(IN_CLOEXEC),
	{ 0, NULL }
};

const struct flag_name flags_inotify_mask[] = {
	N(IN_ACCESS), N(IN_MODIFY), N(IN_ATTRIB), N(IN_CLOSE_WRITE), N(IN_CLOSE_NOWRITE),
	N(IN_OPEN), N(IN_MOVED_FROM), N(IN_MOVED_TO), N(IN_CREATE), N(IN_DELETE),
	N(IN_DELETE_SELF), N(IN_MOVE_SELF), N(IN_UNMOUNT), N(IN_Q_OVERFLOW), N(IN_IGNORED),
	N(IN_ONLYDIR), N(IN_DONT_FOLLOW), N(IN_EXCL_UNLINK), N(IN_MASK_CREATE), N(IN_MASK_ADD),
	N(IN_ISDIR), { 0x80000000, "IN_ONESHOT" },
	{ 0, NULL }
};

const struct flag_name flags_getrandom_flags[] = {
	N(GRND_NONBLOCK), N(GRND_RANDOM), N(GRND_INSECURE),
	{ 0, NULL }
};

const struct flag_name flags_memfd_flags[] = {
	N(MFD_CLOEXEC), N(MFD_ALLOW_SEALING), N(MFD_HUGETLB),
	{ 0, NULL }
};

const struct flag_name flags_splice_flags[] = {
	N(SPLICE_F_MOVE), N(SPLICE_F_NONBLOCK), N(SPLICE_F_MORE), N(SPLICE_F_GIFT),
	{ 0, NULL }
};

const struct flag_name flags_fallocate_mode[] = {
	N(FALLOC_FL_KEEP_SIZE), N(FALLOC_FL_PUNCH_HOLE), N(FALLOC_FL_NO_HIDE_STALE),
	N(FALLOC_FL_COLLAPSE_RANGE), N(FALLOC_FL_ZERO_RANGE), N(FALLOC_FL_INSERT_RANGE),
	N(FALLOC_FL_UNSHARE_RANGE),
	{ 0, NULL }
};

const struct flag_name flags_rename_flags[] = {
	N(RENAME_NOREPLACE), N(RENAME_EXCHANGE), N(RENAME_WHITEOUT),
	{ 0, NULL }
};

const struct flag_name flags_statx_mask[] = {
	N(STATX_ALL), N(STATX_BASIC_STATS), N(STATX_TYPE), N(STATX_MODE), N(STATX_NLINK),
	N(STATX_UID), N(STATX_GID), N(STATX_ATIME), N(STATX_MTIME), N(STATX_CTIME), N(STATX_INO),
	N(STATX_SIZE), N(STATX_BLOCKS), N(STATX_BTIME), N(STATX_MNT_ID),
	{ 0x2000, "STATX_DIOALIGN" },
	{ 0, NULL }
};

const struct flag_name flags_read_write_flags[] = {
	N(RWF_HIPRI), N(RWF_DSYNC), N(RWF_SYNC), N(RWF_NOWAIT), N(RWF_APPEND),
	{ 0, NULL }
};

const struct flag_name flags_close_range_flags[] = {
	N(CLOSE_RANGE_UNSHARE), N(CLOSE_RANGE_CLOEXEC),
	{ 0, NULL }
};

const struct flag_name flags_mlockall_flags[] = {
	N(MCL_CURRENT), N(MCL_FUTURE), N(MCL_ONFAULT),
	{ 0, NULL }
};

const struct flag_name flags_arch_prctl_code[] = {
	N(ARCH_SET_GS), N(ARCH_SET_FS), N(ARCH_GET_FS), N(ARCH_GET_GS), N(ARCH_GET_CPUID),
	N(ARCH_SET_CPUID),
	{ 0, NULL }
};

const struct flag_name flags_fd_flags[] = {
	N(FD_CLOEXEC),
	{ 0, NULL }
};

const struct flag_name flags_sync_range_flags[] = {
	N(SYNC_FILE_RANGE_WAIT_BEFORE), N(SYNC_FILE_RANGE_WRITE), N(SYNC_FILE_RANGE_WAIT_AFTER),
	{ 0, NULL }
};

const struct flag_name flags_io_uring_enter_flags[] = {
	{ 1, "IORING_ENTER_GETEVENTS" }, { 2, "IORING_ENTER_SQ_WAKEUP" },
	{ 4, "IORING_ENTER_SQ_WAIT" }, { 8, "IORING_ENTER_EXT_ARG" },
	{ 16, "IORING_ENTER_REGISTERED_RING" },
	{ 0, NULL }
};

const struct flag_name flags_prctl_option[] = {
	N(PR_SET_PDEATHSIG), N(PR_GET_PDEATHSIG), N(PR_GET_DUMPABLE), N(PR_SET_DUMPABLE),
	N(PR_SET_NAME), N(PR_GET_NAME), N(PR_SET_SECCOMP), N(PR_GET_SECCOMP), N(PR_CAPBSET_READ),
	N(PR_CAPBSET_DROP), N(PR_SET_KEEPCAPS), N(PR_GET_KEEPCAPS), N(PR_SET_SECUREBITS),
	N(PR_GET_SECUREBITS), N(PR_SET_TIMERSLACK), N(PR_GET_TIMERSLACK), N(PR_SET_NO_NEW_PRIVS),
	N(PR_GET_NO_NEW_PRIVS), N(PR_SET_CHILD_SUBREAPER), N(PR_GET_CHILD_SUBREAPER),
	N(PR_SET_PTRACER), N(PR_SET_MM), N(PR_SET_THP_DISABLE), N(PR_SET_VMA), N(PR_CAP_AMBIENT),
	N(PR_GET_TIMING), N(PR_SET_TIMING), N(PR_GET_TSC), N(PR_SET_TSC),
	N(PR_TASK_PERF_EVENTS_DISABLE), N(PR_TASK_PERF_EVENTS_ENABLE), N(PR_MCE_KILL),
	N(PR_MCE_KILL_GET), N(PR_GET_TID_ADDRESS), N(PR_GET_THP_DISABLE),
	N(PR_GET_SPECULATION_CTRL), N(PR_SET_SPECULATION_CTRL), { 57, "PR_SET_IO_FLUSHER" },
	{ 58, "PR_GET_IO_FLUSHER" }, { 59, "PR_SET_SYSCALL_USER_DISPATCH" },
	{ 62, "PR_SCHED_CORE" },
	{ 0, NULL }
};

const struct flag_name flags_mount_flags[] = {
	N(MS_RDONLY), N(MS_NOSUID), N(MS_NODEV), N(MS_NOEXEC), N(MS_SYNCHRONOUS), N(MS_REMOUNT),
	N(MS_MANDLOCK), N(MS_DIRSYNC), { 256, "MS_NOSYMFOLLOW" }, N(MS_NOATIME), N(MS_NODIRATIME),
	N(MS_BIND), N(MS_MOVE), N(MS_REC), N(MS_SILENT), N(MS_POSIXACL), N(MS_UNBINDABLE),
	N(MS_PRIVATE), N(MS_SLAVE), N(MS_SHARED), N(MS_RELATIME), N(MS_KERNMOUNT),
	N(MS_I_VERSION), N(MS_STRICTATIME), N(MS_LAZYTIME),
	{ 1 << 26, "MS_SUBMOUNT" }, { 1 << 27, "MS_NOREMOTELOCK" }, { 1 << 28, "MS_NOSEC" },
	{ 1 << 29, "MS_BORN" }, N(MS_ACTIVE), N(MS_NOUSER),
	{ 0, NULL }
};

const struct flag_name flags_umount_flags[] = {
	N(MNT_FORCE), N(MNT_DETACH), N(MNT_EXPIRE), N(UMOUNT_NOFOLLOW),
	{ 0, NULL }
};

const struct flag_name flags_seals[] = {
	N(F_SEAL_SEAL), N(F_SEAL_SHRINK), N(F_SEAL_GROW), N(F_SEAL_WRITE),
	{ 16, "F_SEAL_FUTURE_WRITE" }, { 32, "F_SEAL_EXEC" },
	{ 0, NULL }
};

const struct flag_name flags_lease[] = {
	N(F_RDLCK), N(F_WRLCK), N(F_UNLCK),
	{ 0, NULL }
};

const struct flag_name flags_shm_get_flags[] = {
	N(IPC_CREAT), N(IPC_EXCL), N(SHM_HUGETLB), N(SHM_NORESERVE),
	{ 0, NULL }
};

const struct flag_name flags_sem_get_flags[] = {
	N(IPC_CREAT), N(IPC_EXCL), N(IPC_NOWAIT),
	{ 0, NULL }
};

const struct flag_name flags_msg_get_flags[] = {
	N(IPC_CREAT), N(IPC_EXCL), N(IPC_NOWAIT),
	{ 0, NULL }
};

const struct flag_name flags_ptrace_request[] = {
	{ 0, "PTRACE_TRACEME" }, { 1, "PTRACE_PEEKTEXT" }, { 2, "PTRACE_PEEKDATA" },
	{ 3, "PTRACE_PEEKUSER" }, { 4, "PTRACE_POKETEXT" }, { 5, "PTRACE_POKEDATA" },
	{ 6, "PTRACE_POKEUSER" }, { 7, "PTRACE_CONT" }, { 8, "PTRACE_KILL" },
	{ 9, "PTRACE_SINGLESTEP" }, { 12, "PTRACE_GETREGS" }, { 13, "PTRACE_SETREGS" },
	{ 14, "PTRACE_GETFPREGS" }, { 15, "PTRACE_SETFPREGS" }, { 16, "PTRACE_ATTACH" },
	{ 17, "PTRACE_DETACH" }, { 18, "PTRACE_GETFPXREGS" }, { 19, "PTRACE_SETFPXREGS" },
	{ 21, "PTRACE_OLDSETOPTIONS" }, { 24, "PTRACE_SYSCALL" },
	{ 25, "PTRACE_GET_THREAD_AREA" }, { 26, "PTRACE_SET_THREAD_AREA" },
	{ 30, "PTRACE_ARCH_PRCTL" }, { 31, "PTRACE_SYSEMU" }, { 32, "PTRACE_SYSEMU_SINGLESTEP" },
	{ 33, "PTRACE_SINGLEBLOCK" }, { 0x4200, "PTRACE_SETOPTIONS" },
	{ 0x4201, "PTRACE_GETEVENTMSG" }, { 0x4202, "PTRACE_GETSIGINFO" },
	{ 0x4203, "PTRACE_SETSIGINFO" }, { 0x4204, "PTRACE_GETREGSET" },
	{ 0x4205, "PTRACE_SETREGSET" }, { 0x4206, "PTRACE_SEIZE" },
	{ 0x4207, "PTRACE_INTERRUPT" }, { 0x4208, "PTRACE_LISTEN" },
	{ 0x4209, "PTRACE_PEEKSIGINFO" }, { 0x420a, "PTRACE_GETSIGMASK" },
	{ 0x420b, "PTRACE_SETSIGMASK" }, { 0x420c, "PTRACE_SECCOMP_GET_FILTER" },
	{ 0x420d, "PTRACE_SECCOMP_GET_METADATA" }, { 0x420e, "PTRACE_GET_SYSCALL_INFO" },
	{ 0x420f, "PTRACE_GET_RSEQ_CONFIGURATION" },
	{ 0x4210, "PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG" },
	{ 0x4211, "PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG" },
	{ 0x4212, "PTRACE_SET_SYSCALL_INFO" },
	{ 0, NULL }
};

const struct flag_name flags_bpf_command[] = {
	{ 0, "BPF_MAP_CREATE" }, { 1, "BPF_MAP_LOOKUP_ELEM" }, { 2, "BPF_MAP_UPDATE_ELEM" },
	{ 3, "BPF_MAP_DELETE_ELEM" }, { 4, "BPF_MAP_GET_NEXT_KEY" }, { 5, "BPF_PROG_LOAD" },
	{ 6, "BPF_OBJ_PIN" }, { 7, "BPF_OBJ_GET" }, { 8, "BPF_PROG_ATTACH" },
	{ 9, "BPF_PROG_DETACH" }, { 10, "BPF_PROG_TEST_RUN" }, { 11, "BPF_PROG_GET_NEXT_ID" },
	{ 12, "BPF_MAP_GET_NEXT_ID" }, { 13, "BPF_PROG_GET_FD_BY_ID" },
	{ 14, "BPF_MAP_GET_FD_BY_ID" }, { 15, "BPF_OBJ_GET_INFO_BY_FD" },
	{ 16, "BPF_PROG_QUERY" }, { 17, "BPF_RAW_TRACEPOINT_OPEN" }, { 18, "BPF_BTF_LOAD" },
	{ 19, "BPF_BTF_GET_FD_BY_ID" }, { 20, "BPF_TASK_FD_QUERY" },
	{ 21, "BPF_MAP_LOOKUP_AND_DELETE_ELEM" }, { 22, "BPF_MAP_FREEZE" },
	{ 23, "BPF_BTF_GET_NEXT_ID" }, { 24, "BPF_MAP_LOOKUP_BATCH" },
	{ 25, "BPF_MAP_LOOKUP_AND_DELETE_BATCH" }, { 26, "BPF_MAP_UPDATE_BATCH" },
	{ 27, "BPF_MAP_DELETE_BATCH" }, { 28, "BPF_LINK_CREATE" }, { 29, "BPF_LINK_UPDATE" },
	{ 30, "BPF_LINK_GET_FD_BY_ID" }, { 31, "BPF_LINK_GET_NEXT_ID" },
	{ 32, "BPF_ENABLE_STATS" }, { 33, "BPF_ITER_CREATE" }, { 34, "BPF_LINK_DETACH" },
	{ 35, "BPF_PROG_BIND_MAP" }, { 36, "BPF_TOKEN_CREATE" },
	{ 37, "BPF_PROG_STREAM_READ_BY_FD" },
	{ 0, NULL }
};

/* clang-format on */
