/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The clock of modules that count in ticks. Linux has 250 of them a second, as Debian and most others build it, and
 * ns-2.35 gives the modules of Linux 2.6.22 1000.
 */
#ifndef TICKS_H
#define TICKS_H

#include "cc.h"

/* Ticks in a second. */
static inline u32 ticks_hz(u32 is_ns2)
{
	return is_ns2 ? 1000 : 250;
}

/* Ticks that are over. */
static inline u64 ticks_of(u64 us, u32 is_ns2)
{
	return is_ns2 ? us / 1000 : us / 4000;
}

/* So many that the last one is whole. */
static inline u32 ticks_round_up(u32 us, u32 is_ns2)
{
	return (u32)ticks_of((u64)us + (is_ns2 ? 999 : 3999), is_ns2);
}

#endif /* TICKS_H */
