/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema.sql inside the program, so that the text people read is the one that runs. The path counts from the root of
 * the repository, where make runs; the compiler does not tell make about it (Makefile: db/schema.o needs
 * db/schema.sql).
 */
#include "db/store-internal.h"

__asm__(".pushsection .rodata\n"
	".global db_schema_sql\n"
	"db_schema_sql:\n"
	".incbin \"db/schema.sql\"\n"
	".byte 0\n"
	".popsection\n");
