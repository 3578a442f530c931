/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * result.h - unpacks what a guest sent (the stream that jobs/agent/agent.c describes). The guest is not trusted: every
 * length is checked, only regular files with plain relative names are made, number and sizes are capped, and an
 * existing file is never opened.
 */
#ifndef KPB_KERNELS_RESULT_H
#define KPB_KERNELS_RESULT_H
#include "lib/buf.h"

#define RESULT_MAX_FILES 256
#define RESULT_MAX_BYTES (33u << 20)

struct result_end {
	int exit_status;                /* of the script */
	bool timed_out;                 /* the agent ended it at its time limit */
	bool cut;                       /* there were more files than the caps allow */
	bool no_script;
	unsigned files;
};
/* Makes dir and unpacks into it. -ENODATA: the stream is empty or stops before its end; -EBADMSG: it is damaged or
 * asks for something that is not allowed (files before that place may exist in dir). */
int result_unpack(const void *stream, size_t n, const char *dir, struct result_end *ret);
/* The check sum of the frames. */
uint32_t result_crc32(const void *data, size_t n);

#endif
