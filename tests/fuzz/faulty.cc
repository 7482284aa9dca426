// A fuzz target with the faults that driver.cc must find, each behind an input's first byte: for driver_test.sh.
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static volatile uint8_t sink;
  static volatile int number = INT32_MAX;
  switch (size > 0 ? data[0] : 0) {
    case 'a': std::abort();
    case 'r': sink = data[size + sink]; break;                  // reads past the end
    case 'u': number = number + static_cast<int>(size); break;  // overflows
    case 'l': sink = *static_cast<volatile uint8_t*>(std::calloc(100, 1)); break;
    case 't': throw 1;
    case 'h':
      while (size > sink) continue;
      break;
    default: break;
  }
  return 0;
}
