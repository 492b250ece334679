/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The types that the contract derives from NAME, an algorithm of registry.h. */
#ifndef NAMES_H
#define NAMES_H

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
#define STATE struct NAME
#define PARAMS struct NAMED(NAME, _params)

#endif /* NAMES_H */
