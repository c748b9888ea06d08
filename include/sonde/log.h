/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: log - diagnostics of the library
 *
 * The library never prints. Who wants to know what it decided and why sets a
 * function.
 */
#ifndef SONDE_LOG_H
#define SONDE_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * sonde_set_log() - where diagnostics go
 * @fn: called with one line without newline; NULL for nowhere (the default)
 * @ctx: handed to @fn
 *
 * Not to be changed while another thread is inside the library. Since: 0.1
 */
void sonde_set_log(void (*fn)(void *ctx, const char *line), void *ctx);

#ifdef __cplusplus
}
#endif

#endif
