// What runengine writes besides its report: JSON files and printed outputs, in trtexec's forms.
#ifndef PLANWRIGHT_APPS_RUNENGINE_EXPORTS_H_
#define PLANWRIGHT_APPS_RUNENGINE_EXPORTS_H_

#include <string>

#include "apps/common/inference.h"

namespace planwright::apps {

// [{startMs, endMs, inMs, computeMs, outMs, latencyMs}, ...]
void export_times(const Measurement& measurement, const std::string& path);

// [{"count": N}, {"name", "timeMs", "averageMs", "medianMs", "percentage"}, ...]
void export_profile(const Measurement& measurement, const std::string& path);

// [{"name", "dimensions": "1x1000", "values": [...]}, ...]
void export_output(const Tensors& outputs, const std::string& path);

void print_output(const Tensors& outputs);

// Header, device, profiles; with `layers` every layer of every profile.
void print_engine(const pw::Engine& engine, bool header, bool layers);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_RUNENGINE_EXPORTS_H_
