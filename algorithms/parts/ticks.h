/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The clock of modules that count in ticks. Linux has 250 of them a second, as Debian and most others build it, and
 * ns-2.35 gives the modules of Linux 2.6.22 1000.
 */
#ifndef TICKS_H
#define TICKS_H

#include "cc.h"

#define TICKS_HZ 250U
#define TICKS_HZ_NS2 1000U

/* Ticks that are over. */
static inline u64 ticks_of(u64 us, u32 is_ns2)
{
	return is_ns2 ? us / (1000000 / TICKS_HZ_NS2) : us / (1000000 / TICKS_HZ);
}

/* So many that the last one is whole. */
static inline u32 ticks_round_up(u32 us, u32 is_ns2)
{
	u32 tick_us = 1000000 / TICKS_HZ_NS2, longer_us = 1000000 / TICKS_HZ;

	return is_ns2 ? us / tick_us + !!(us % tick_us) : us / longer_us + !!(us % longer_us);
}

#endif /* TICKS_H */
