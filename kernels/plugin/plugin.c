/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - a plugin for QEMU's TCG that counts how often each translated block runs between the start and the stop
 * mark. The guest cannot notice: nothing of its state or time is touched. With -smp 1 or thread=single only; the
 * counters are not atomic.
 *
 *	-plugin tcg-count.so,out=FILE           FILE: count-format.h
 *	-plugin tcg-count.so,probe=on           ends QEMU at once with status 0: this QEMU takes the plugin
 *
 * A block that an exception leaves half-way counts as a whole one, and the rest of it again as a block of its own. No
 * library but libc and QEMU's own symbols.
 */
#include "kernels/plugin/count-format.h"
#include "kernels/plugin/qemu-plugin-api.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plugin_block {
	uint64_t addr, insns;
	uint64_t execs;         /* QEMU adds to it */
	uint64_t base, sum;     /* execs at the last start mark; counted in what is over */
	uint8_t *size;          /* bytes of each instruction; NULL for user space */
};

/* Blocks never move, since translated code holds the addresses of their counters; the table of pointers may grow. */
static struct { struct plugin_block **slot; size_t size, n; } blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool counting;
static uint64_t starts, stops;
static char *out_path;

int qemu_plugin_version = 1;

static size_t slot_of(uint64_t addr, uint64_t insns)
{
	uint64_t h = (addr ^ insns << 48) * 0x9e3779b97f4a7c15u;
	size_t i = h >> 32 & (blocks.size - 1);

	while (blocks.slot[i] && (blocks.slot[i]->addr != addr || blocks.slot[i]->insns != insns))
		i = (i + 1) & (blocks.size - 1);
	return i;
}

static bool grow(void)
{
	struct plugin_block **old = blocks.slot;
	size_t size = blocks.size;

	blocks.size = size ? 2 * size : 1 << 16;
	blocks.slot = calloc(blocks.size, sizeof(*blocks.slot));
	if (!blocks.slot)
		return false;
	for (size_t i = 0; i < size; i++)
		if (old[i])
			blocks.slot[slot_of(old[i]->addr, old[i]->insns)] = old[i];
	free(old);
	return true;
}

static struct plugin_block *block_of(uint64_t addr, uint64_t insns)
{
	size_t i;

	if (2 * blocks.n >= blocks.size && !grow())
		return NULL;
	i = slot_of(addr, insns);
	if (!blocks.slot[i]) {
		blocks.slot[i] = calloc(1, sizeof(struct plugin_block));
		if (!blocks.slot[i])
			return NULL;
		blocks.slot[i]->addr = addr;
		blocks.slot[i]->insns = insns;
		blocks.n++;
	}
	return blocks.slot[i];
}

static void on_start(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (counting)
		return;
	counting = true;
	starts++;
	for (size_t i = 0; i < blocks.size; i++)
		if (blocks.slot[i])
			blocks.slot[i]->base = blocks.slot[i]->execs;
}

static void add_up(void)
{
	for (size_t i = 0; i < blocks.size; i++)
		if (blocks.slot[i])
			blocks.slot[i]->sum += blocks.slot[i]->execs - blocks.slot[i]->base;
	counting = false;
}

static void on_stop(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (!counting)
		return;
	add_up();
	stops++;
}

/* Anew each time: patched code (alternatives, static keys) may have other sizes at the same place. */
static bool note_sizes(struct plugin_block *b, const struct qemu_plugin_tb *tb)
{
	if (!b->size)
		b->size = calloc(b->insns, 1);
	for (uint64_t i = 0; b->size && i < b->insns; i++)
		b->size[i] = (uint8_t)qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	return b->size;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	struct plugin_block *b;

	(void)id;
	if (addr == COUNT_MARK_START)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_start, QEMU_PLUGIN_CB_NO_REGS, NULL);
	if (addr == COUNT_MARK_STOP)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_stop, QEMU_PLUGIN_CB_NO_REGS, NULL);
	pthread_mutex_lock(&lock);
	b = block_of(addr < COUNT_USER_END ? 0 : addr, qemu_plugin_tb_n_insns(tb));
	pthread_mutex_unlock(&lock);
	if (!b || (b->addr && !note_sizes(b, tb)))
		_exit(3); /* a count with holes is worse than none */
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &b->execs, 1);
}

static int by_place(const void *a, const void *b)
{
	const struct plugin_block *x = *(struct plugin_block *const *)a, *y = *(struct plugin_block *const *)b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->insns < y->insns ? -1 : x->insns > y->insns;
}

static void put(FILE *f, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		putc((int)(v & 127) | 128, f);
	putc((int)v, f);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	FILE *f = fopen(out_path, "we");
	uint64_t addr = 0;
	size_t n = 0;

	(void)id;
	(void)data;
	if (counting)
		add_up();
	for (size_t i = 0; i < blocks.size; i++)
		if (blocks.slot[i] && blocks.slot[i]->sum)
			blocks.slot[n++] = blocks.slot[i];
	qsort(blocks.slot, n, sizeof(*blocks.slot), by_place);
	if (!f) {
		fprintf(stderr, "tcg-count: cannot write '%s': %s\n", out_path, strerror(errno));
		return;
	}
	fputs(COUNT_MAGIC, f);
	put(f, starts);
	put(f, stops);
	put(f, n);
	for (size_t i = 0; i < n; i++) {
		put(f, blocks.slot[i]->addr - addr);
		put(f, blocks.slot[i]->insns);
		put(f, blocks.slot[i]->sum);
		for (uint64_t k = 0; blocks.slot[i]->size && k < blocks.slot[i]->insns; k++)
			put(f, blocks.slot[i]->size[k]);
		addr = blocks.slot[i]->addr;
	}
	if (fclose(f))
		fprintf(stderr, "tcg-count: cannot write '%s': %s\n", out_path, strerror(errno));
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "probe=on"))
			_exit(0);
		if (!strncmp(argv[i], "out=", 4))
			out_path = strdup(argv[i] + 4);
	}
	if (!out_path || !grow()) {
		fprintf(stderr, "tcg-count: wants out=FILE\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
