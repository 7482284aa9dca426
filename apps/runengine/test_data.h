// An ONNX backend-test folder: run every data set, compare (--testData).
#ifndef PLANWRIGHT_APPS_RUNENGINE_TEST_DATA_H_
#define PLANWRIGHT_APPS_RUNENGINE_TEST_DATA_H_

#include "apps/common/inference.h"
#include "apps/runengine/options.h"

namespace planwright::apps {

// Prints a line an output, for those that match unless quiet, for others as an error; true when all match. A file is
// for the binding whose name is stored in it, else for the one at its number. Throws Error for data that cannot be read
// or fed.
bool run_test_data(const pw::Engine& engine, const RunOptions& options);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_RUNENGINE_TEST_DATA_H_
