/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel as a module sees it, and the algorithm's parameters as the module's. */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/ctype.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/version.h>
#include <net/tcp.h>

#ifndef CONFIG_64BIT
#error "the algorithms divide 64-bit numbers: a 64-bit kernel is needed"
#endif

/* A name in the algorithms. */
#undef current

#define CC_HAVE_TYPES
#include HEADER

#define BITS(s, field) ((s)->field)

static PARAMS params = { NAMED(NAME, _PARAMS)(CC_PARAM_DEFAULT) };

static inline const PARAMS *parameters(void)
{
	return &params;
}

#endif /* KERNEL_H */
