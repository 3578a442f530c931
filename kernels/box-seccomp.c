/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls that no build and no benchmark in a box needs: those that reach hardware, other processes' secrets,
 * the kernel's own configuration, more namespaces, or rarely used code of the kernel. All else stays allowed: what a
 * compiler or a test suite will ask for cannot be listed. What is denied fails as if it did not exist or were not
 * permitted; nothing is killed.
 */
#include "kernels/box-internal.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

static const int denied[] = {
	/* mounts and namespaces */
	SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(setns),
	SCMP_SYS(unshare), SCMP_SYS(fsopen), SCMP_SYS(fsmount), SCMP_SYS(fsconfig), SCMP_SYS(fspick),
	SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at),
	SCMP_SYS(name_to_handle_at), SCMP_SYS(fanotify_init),
	/* the machine */
	SCMP_SYS(reboot), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),
	SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct),
	SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(syslog),
	SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime),
	SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(vhangup), SCMP_SYS(lookup_dcookie),
	SCMP_SYS(nfsservctl), SCMP_SYS(uselib), SCMP_SYS(ustat), SCMP_SYS(sysfs), SCMP_SYS(modify_ldt),
	/* keys are shared by all processes of a uid, in whatever namespace */
	SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
	/* large and often broken */
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev), SCMP_SYS(kcmp), SCMP_SYS(pidfd_getfd), SCMP_SYS(process_madvise),
	SCMP_SYS(vmsplice), SCMP_SYS(move_pages), SCMP_SYS(migrate_pages),
};

/* Network families beyond these are not all bound to a network namespace (vsock), or reach hardware. */
static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

/* Denies a call where argument n compares so; 0, or libseccomp's error. */
static int deny_if(scmp_filter_ctx c, int error, int call, struct scmp_arg_cmp when)
{
	return seccomp_rule_add_array(c, SCMP_ACT_ERRNO(error), call, 1, &when);
}

static int deny_namespaces(scmp_filter_ctx c)
{
	static const unsigned long spaces[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
					       CLONE_NEWUTS, CLONE_NEWCGROUP};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(spaces); i++)
		r = deny_if(c, EPERM, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, spaces[i], spaces[i]));
	/* its flags lie in memory, where a filter cannot look; libc then takes clone */
	return r < 0 ? r : seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* All above the last family that is allowed, and those between. */
static int deny_families(scmp_filter_ctx c)
{
	int r = deny_if(c, EAFNOSUPPORT, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_GT, AF_NETLINK));

	for (int f = 0; r == 0 && f <= AF_NETLINK; f++) {
		bool allowed = false;

		for (size_t i = 0; i < ARRAY_SIZE(families); i++)
			allowed |= families[i] == f;
		if (!allowed)
			r = deny_if(c, EAFNOSUPPORT, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_EQ, f));
	}
	return r;
}

static int rules(scmp_filter_ctx c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(denied); i++)
		if (denied[i] != __NR_SCMP_ERROR)
			r = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
	if (r == 0)
		r = deny_namespaces(c);
	/* typing into the terminal that we were started in, were there one */
	if (r == 0)
		r = deny_if(c, EPERM, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI));
	if (r == 0)
		r = deny_if(c, EPERM, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCLINUX));
	return r < 0 ? r : deny_families(c);
}

int box_filter(void)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
	int fd = memfd_create("kperfbot-seccomp", MFD_CLOEXEC), r = c ? 0 : -ENOMEM;

	if (fd < 0)
		r = -errno;
	/* programs of another kind (32 bits) find no system call at all: their tables are not looked through here */
	if (r == 0)
		r = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = rules(c);
	if (r == 0)
		r = seccomp_export_bpf(c, fd);
	seccomp_release(c);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(r, "cannot make the seccomp filter of a box: %s", strerror(-r));
}
