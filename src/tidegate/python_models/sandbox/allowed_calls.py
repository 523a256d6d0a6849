"""The system calls that sandboxed code may make. All others fail with EPERM."""

from __future__ import annotations

__all__ = ["ALLOWED_CALLS"]

_NAMES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
dup dup2 dup3 pipe pipe2 select pselect6 poll ppoll eventfd eventfd2
epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
sendto recvfrom sendmsg recvmsg shutdown getsockopt setsockopt getsockname getpeername
open openat creat access faccessat faccessat2 stat lstat fstat newfstatat statx statfs fstatfs getdents getdents64
readlink readlinkat getcwd chdir fchdir umask flock fsync fdatasync truncate ftruncate fallocate fadvise64
copy_file_range sendfile rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat symlink symlinkat
chmod fchmod fchmodat utimensat utime utimes futimesat
mmap munmap mprotect mremap madvise brk msync mincore membarrier
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause
futex set_robust_list get_robust_list rseq set_tid_address restart_syscall sched_yield
exit exit_group wait4 waitid
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times alarm getitimer setitimer
timerfd_create timerfd_settime timerfd_gettime
getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp getpgid getsid
getrlimit setrlimit getrusage getpriority sysinfo uname getcpu getrandom capget
sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
"""

ALLOWED_CALLS = tuple(_NAMES.split())
