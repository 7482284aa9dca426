// What the reader and the writer of .npz archives share of the ZIP format (APPNOTE 6.3, section 4.3).
#ifndef PLANWRIGHT_CALIBRATOR_ARRAYS_ZIP_FORMAT_H_
#define PLANWRIGHT_CALIBRATOR_ARRAYS_ZIP_FORMAT_H_

#include <cstdint>

namespace planwright::arrays::zip {

// What records begin with.
inline constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndOfDirectory = 0x06054b50,
                          kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
// Methods of compression.
inline constexpr int kStored = 0, kDeflated = 8;

}  // namespace planwright::arrays::zip

#endif  // PLANWRIGHT_CALIBRATOR_ARRAYS_ZIP_FORMAT_H_
