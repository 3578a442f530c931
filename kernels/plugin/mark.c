/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark.c - "kpb-mark start" and "kpb-mark stop" in the guest: a program without libc that calls one of two functions,
 * which do nothing. Counting from outside (plugin.c) begins and ends there; nobody else has code at their addresses,
 * which the linker sets (plugin.mk, count-format.h).
 */
__attribute__((section(".mark.start"), noinline, used)) void mark_start(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((section(".mark.stop"), noinline, used)) void mark_stop(void) { __asm__ volatile("" ::: "memory"); }

static void leave(int status)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(60), "D"(status) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = 93, x0 __asm__("x0") = status;

	__asm__ volatile("svc 0" : : "r"(x8), "r"(x0) : "memory");
#else
#error "kpb-mark: how does a program end on this architecture?"
#endif
}

/* words: argc, argv[0], argv[1] ... */
__attribute__((used)) void mark_main(const long *words)
{
	const char *what = words[0] == 2 ? (const char *)words[2] : "";

	if (what[0] == 's' && what[1] == 't' && what[2] == 'a')
		mark_start();
	else if (what[0] == 's' && what[1] == 't' && what[2] == 'o')
		mark_stop();
	else
		leave(2);
	leave(0);
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call mark_main\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\n bl mark_main\n");
#endif
