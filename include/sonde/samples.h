/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: samples - keep what a probe was told, and ask it again without the machine
 *
 * A capture holds every question that a probe asked of the machine and every
 * answer, as text: see sonde-samples(5). A probe decides from the answers and
 * its seed alone, so the same answers give the same report, anywhere.
 */
#ifndef SONDE_SAMPLES_H
#define SONDE_SAMPLES_H

#include <sonde/memory.h>
#include <sonde/probe.h>
#include <sonde/profile.h>
#include <sonde/share.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_recorder;
struct sonde_samples;

/**
 * sonde_recorder_open() - begin a capture
 * @recorder: where the recorder goes; untouched on failure
 * @path: the file, replaced as a whole by sonde_recorder_save() or not at all
 * @topo: the machine as claimed, to be kept with the samples; NULL for none
 * @about: what a profile says of it so far, likewise
 *
 * Whether the file can be written is known after this. What probes are given the
 * recorder in their options, one after the other, is in the capture.
 *
 * Return: 0, -EISDIR, -EINVAL (@path is neither a file nor a new name), -ENOMEM,
 * or what open(2) said. Since: 0.1
 */
int sonde_recorder_open(struct sonde_recorder **recorder, const char *path,
			const struct sonde_topology *topo, const struct sonde_profile *about);

/**
 * sonde_recorder_save() - put the capture where it belongs
 * @recorder: the recorder; nothing can be recorded with it any more
 *
 * Return: 0, -ENOMEM (a sample could not be kept), -ENODATA (no probe was
 * recorded), or what write(2), fsync(2) or rename(2) said; then nothing is
 * there. Since: 0.1
 */
int sonde_recorder_save(struct sonde_recorder *recorder);

/**
 * sonde_recorder_close() - free; @recorder may be NULL
 *
 * What was not saved leaves nothing behind. Since: 0.1
 */
void sonde_recorder_close(struct sonde_recorder *recorder);

/**
 * sonde_samples_load() - read a capture
 * @samples: where it goes; untouched on failure
 * @path: the file
 *
 * Return: 0; -EBADMSG (not a capture, cut off or damaged), -EPROTO (another
 * version of the format), both with what and where to sonde_set_log(); -EFBIG
 * (above 1 GiB), -EISDIR, -ENOMEM, or what open(2) or read(2) said. Since: 0.1
 */
int sonde_samples_load(struct sonde_samples **samples, const char *path);

/** sonde_samples_free() - free; @samples may be NULL. Since: 0.1 */
void sonde_samples_free(struct sonde_samples *samples);

/**
 * sonde_samples_probe() - whose samples they are
 * @samples: a capture
 *
 * Return: the last probe's name: "cache" (sonde_probe_cache()), "servet" (sonde_servet_cache()),
 * "share" (sonde_probe_share()) or "memory" (sonde_probe_memory()). Since: 0.1
 */
const char *sonde_samples_probe(const struct sonde_samples *samples);

/**
 * sonde_samples_topology() - the machine that was measured, as it was claimed
 * @samples: a capture
 * @topo: what the recorder was given, to be closed with sonde_topology_close();
 *        untouched on failure
 *
 * Return: 0, -ENODATA (nothing was kept of it), -EBADMSG (it makes no sense: see
 * sonde_set_log()), -ENOMEM. Since: 0.1
 */
int sonde_samples_topology(const struct sonde_samples *samples, struct sonde_topology **topo);

/**
 * sonde_samples_profile() - the machine that was measured
 * @samples: a capture
 * @profile: what the recorder was given, the date included, but this library's
 *           version; untouched on failure
 *
 * Return: 0, -ENODATA (nothing was kept of it), -EBADMSG (not of the schema: see
 * sonde_set_log()), -ENOMEM. Since: 0.1
 */
int sonde_samples_profile(const struct sonde_samples *samples, struct sonde_profile **profile);

/**
 * sonde_samples_cache() - what the caches of the recorded machine are
 * @samples: a capture
 * @report: as the probe made it, to be freed with sonde_cache_report_free();
 *          untouched on failure
 *
 * The probe runs, and is answered from the capture. It must ask what was asked
 * when the capture was made, to the last question: another version of the probe
 * may not.
 *
 * Return: 0, -EBADMSG (it asks something else, or an answer makes no sense: see
 * sonde_set_log()), -ENODATA (no samples of such a probe), -ENOMEM. Since: 0.1
 */
int sonde_samples_cache(struct sonde_samples *samples, struct sonde_cache_report **report);

/**
 * sonde_samples_share() - which CPUs of the recorded machine share which cache
 * @samples: a capture
 * @report: as sonde_probe_share() made it, to be freed with
 *          sonde_share_report_free(); untouched on failure
 *
 * Return: as sonde_samples_cache(). Since: 0.1
 */
int sonde_samples_share(struct sonde_samples *samples, struct sonde_share_report **report);

/**
 * sonde_samples_memory() - what CPUs of the recorded machine lose together
 * @samples: a capture
 * @report: as sonde_probe_memory() made it, to be freed with
 *          sonde_memory_report_free(); untouched on failure
 *
 * Return: as sonde_samples_cache(). Since: 0.1
 */
int sonde_samples_memory(struct sonde_samples *samples, struct sonde_memory_report **report);

#ifdef __cplusplus
}
#endif

#endif
