// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The system calls that the target half makes, on any machine; -1 where this one has none of that name.
#ifdef SYS_accept4
{"accept4", SYS_accept4},
#else
{"accept4", -1},
#endif
#ifdef SYS_bind
    {"bind", SYS_bind},
#else
    {"bind", -1},
#endif
#ifdef SYS_brk
    {"brk", SYS_brk},
#else
    {"brk", -1},
#endif
#ifdef SYS_capget
    {"capget", SYS_capget},
#else
    {"capget", -1},
#endif
#ifdef SYS_clone
    {"clone", SYS_clone},
#else
    {"clone", -1},
#endif
#ifdef SYS_close
    {"close", SYS_close},
#else
    {"close", -1},
#endif
#ifdef SYS_exit
    {"exit", SYS_exit},
#else
    {"exit", -1},
#endif
#ifdef SYS_exit_group
    {"exit_group", SYS_exit_group},
#else
    {"exit_group", -1},
#endif
#ifdef SYS_faccessat
    {"faccessat", SYS_faccessat},
#else
    {"faccessat", -1},
#endif
#ifdef SYS_fallocate
    {"fallocate", SYS_fallocate},
#else
    {"fallocate", -1},
#endif
#ifdef SYS_fchmod
    {"fchmod", SYS_fchmod},
#else
    {"fchmod", -1},
#endif
#ifdef SYS_fcntl
    {"fcntl", SYS_fcntl},
#else
    {"fcntl", -1},
#endif
#ifdef SYS_flock
    {"flock", SYS_flock},
#else
    {"flock", -1},
#endif
#ifdef SYS_fstatfs
    {"fstatfs", SYS_fstatfs},
#else
    {"fstatfs", -1},
#endif
#ifdef SYS_ftruncate
    {"ftruncate", SYS_ftruncate},
#else
    {"ftruncate", -1},
#endif
#ifdef SYS_getcwd
    {"getcwd", SYS_getcwd},
#else
    {"getcwd", -1},
#endif
#ifdef SYS_getdents64
    {"getdents64", SYS_getdents64},
#else
    {"getdents64", -1},
#endif
#ifdef SYS_getegid
    {"getegid", SYS_getegid},
#else
    {"getegid", -1},
#endif
#ifdef SYS_geteuid
    {"geteuid", SYS_geteuid},
#else
    {"geteuid", -1},
#endif
#ifdef SYS_getgid
    {"getgid", SYS_getgid},
#else
    {"getgid", -1},
#endif
#ifdef SYS_getpid
    {"getpid", SYS_getpid},
#else
    {"getpid", -1},
#endif
#ifdef SYS_getppid
    {"getppid", SYS_getppid},
#else
    {"getppid", -1},
#endif
#ifdef SYS_getrusage
    {"getrusage", SYS_getrusage},
#else
    {"getrusage", -1},
#endif
#ifdef SYS_getsockname
    {"getsockname", SYS_getsockname},
#else
    {"getsockname", -1},
#endif
#ifdef SYS_gettid
    {"gettid", SYS_gettid},
#else
    {"gettid", -1},
#endif
#ifdef SYS_getuid
    {"getuid", SYS_getuid},
#else
    {"getuid", -1},
#endif
#ifdef SYS_lseek
    {"lseek", SYS_lseek},
#else
    {"lseek", -1},
#endif
#ifdef SYS_madvise
    {"madvise", SYS_madvise},
#else
    {"madvise", -1},
#endif
#ifdef SYS_mmap
    {"mmap", SYS_mmap},
#else
    {"mmap", -1},
#endif
#ifdef SYS_mmap2
    {"mmap2", SYS_mmap2},
#else
    {"mmap2", -1},
#endif
#ifdef SYS_mremap
    {"mremap", SYS_mremap},
#else
    {"mremap", -1},
#endif
#ifdef SYS_msync
    {"msync", SYS_msync},
#else
    {"msync", -1},
#endif
#ifdef SYS_munmap
    {"munmap", SYS_munmap},
#else
    {"munmap", -1},
#endif
#ifdef SYS_openat
    {"openat", SYS_openat},
#else
    {"openat", -1},
#endif
#ifdef SYS_ppoll
    {"ppoll", SYS_ppoll},
#else
    {"ppoll", -1},
#endif
#ifdef SYS_prctl
    {"prctl", SYS_prctl},
#else
    {"prctl", -1},
#endif
#ifdef SYS_pread64
    {"pread64", SYS_pread64},
#else
    {"pread64", -1},
#endif
#ifdef SYS_prlimit64
    {"prlimit64", SYS_prlimit64},
#else
    {"prlimit64", -1},
#endif
#ifdef SYS_process_vm_readv
    {"process_vm_readv", SYS_process_vm_readv},
#else
    {"process_vm_readv", -1},
#endif
#ifdef SYS_pwrite64
    {"pwrite64", SYS_pwrite64},
#else
    {"pwrite64", -1},
#endif
#ifdef SYS_pwritev
    {"pwritev", SYS_pwritev},
#else
    {"pwritev", -1},
#endif
#ifdef SYS_read
    {"read", SYS_read},
#else
    {"read", -1},
#endif
#ifdef SYS_readlinkat
    {"readlinkat", SYS_readlinkat},
#else
    {"readlinkat", -1},
#endif
#ifdef SYS_recvfrom
    {"recvfrom", SYS_recvfrom},
#else
    {"recvfrom", -1},
#endif
#ifdef SYS_recvmsg
    {"recvmsg", SYS_recvmsg},
#else
    {"recvmsg", -1},
#endif
#ifdef SYS_renameat
    {"renameat", SYS_renameat},
#else
    {"renameat", -1},
#endif
#ifdef SYS_rt_sigpending
    {"rt_sigpending", SYS_rt_sigpending},
#else
    {"rt_sigpending", -1},
#endif
#ifdef SYS_rt_sigprocmask
    {"rt_sigprocmask", SYS_rt_sigprocmask},
#else
    {"rt_sigprocmask", -1},
#endif
#ifdef SYS_rt_sigtimedwait
    {"rt_sigtimedwait", SYS_rt_sigtimedwait},
#else
    {"rt_sigtimedwait", -1},
#endif
#ifdef SYS_sched_getaffinity
    {"sched_getaffinity", SYS_sched_getaffinity},
#else
    {"sched_getaffinity", -1},
#endif
#ifdef SYS_sched_yield
    {"sched_yield", SYS_sched_yield},
#else
    {"sched_yield", -1},
#endif
#ifdef SYS_seccomp
    {"seccomp", SYS_seccomp},
#else
    {"seccomp", -1},
#endif
#ifdef SYS_sendmsg
    {"sendmsg", SYS_sendmsg},
#else
    {"sendmsg", -1},
#endif
#ifdef SYS_sendto
    {"sendto", SYS_sendto},
#else
    {"sendto", -1},
#endif
#ifdef SYS_setsid
    {"setsid", SYS_setsid},
#else
    {"setsid", -1},
#endif
#ifdef SYS_socket
    {"socket", SYS_socket},
#else
    {"socket", -1},
#endif
#ifdef SYS_tgkill
    {"tgkill", SYS_tgkill},
#else
    {"tgkill", -1},
#endif
#ifdef SYS_tkill
    {"tkill", SYS_tkill},
#else
    {"tkill", -1},
#endif
#ifdef SYS_uname
    {"uname", SYS_uname},
#else
    {"uname", -1},
#endif
#ifdef SYS_unlinkat
    {"unlinkat", SYS_unlinkat},
#else
    {"unlinkat", -1},
#endif
#ifdef SYS_wait4
    {"wait4", SYS_wait4},
#else
    {"wait4", -1},
#endif
#ifdef SYS_write
    {"write", SYS_write},
#else
    {"write", -1},
#endif
