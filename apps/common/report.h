// The measurement's report, in trtexec's wording.
#ifndef PLANWRIGHT_APPS_COMMON_REPORT_H_
#define PLANWRIGHT_APPS_COMMON_REPORT_H_

#include <string>
#include <vector>

#include "apps/common/inference.h"

namespace planwright::apps {

struct ReportOptions {
  int avg_runs = 10;
  std::vector<double> percentiles = {90, 95, 99};
  bool trace = true;  // the averages of every `avg_runs` runs
};

// "=== Trace details ===" ... "=== Memory summary ===" on stdout, warnings on stderr.
void print_report(const pw::Engine& engine, const Measurement& measurement, const ReportOptions& options);

// Each layer's total, average, median and share, on stdout.
void print_layer_times(const Measurement& measurement);

// Peak resident memory of this process so far, bytes.
uint64_t peak_resident_bytes();

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_REPORT_H_
