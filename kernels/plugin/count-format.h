/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count-format.h - the contract of three programs: mark.c in the guest, plugin.c in QEMU, profile-read.c in kperfbot.
 *
 * The marks are functions at addresses that no other program has its code at; a block that starts there begins or ends
 * the counting.
 *
 * File: COUNT_MAGIC, then numbers in LEB128 (7 bits a byte, low ones first, bit 7: more follow):
 *	starts, stops           how often counting began and ended; a run that was cut off has one stop less
 *	records                 then for each, in the order of addresses and lengths:
 *		address         less that of the record before
 *		instructions    of the block
 *		executions      of the block while counting, never 0
 *		bytes           of each instruction, one number each; not for user space
 * User space is address 0: programs share addresses, so only its sum (by block length) has a meaning.
 */
#ifndef KPB_KERNELS_PLUGIN_COUNT_FORMAT_H
#define KPB_KERNELS_PLUGIN_COUNT_FORMAT_H

#define COUNT_MAGIC "KPBCNT1\n"
#define COUNT_USER_END 0x800000000000ull        /* x86-64 and arm64: kernel addresses lie above */
#define COUNT_MARK_BASE 0x6b7061f00000ull         /* the rest of the program, near enough for calls */
#define COUNT_MARK_START 0x6b7062001000ull
#define COUNT_MARK_STOP 0x6b7062002000ull

#endif
