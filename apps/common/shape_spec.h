// "name:1x3x224x224,other:8x128": the syntax of shape flags, shared by both programs.
#ifndef PLANWRIGHT_APPS_COMMON_SHAPE_SPEC_H_
#define PLANWRIGHT_APPS_COMMON_SHAPE_SPEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace planwright::apps {

// A pattern (a name, one `*` standing for anything) and its dims, or for a shape input its values; empty dims for a
// scalar.
struct ShapeSpec {
  std::string pattern;  // empty where only dims were given, which check_names() refuses: it knows the names
  std::vector<int64_t> dims;
};

// Name and value split at the last ':'; a name may be in single quotes ('Input:0':1x3); "name:scalar" and "name:" are
// scalars. Throws UsageError, quoting the part that is wrong and `flag`, also where one pattern is given twice.
std::vector<ShapeSpec> parse_shapes(const std::string& text, const std::string& flag);

// "name:file,other:file": the same rules for names.
std::vector<std::pair<std::string, std::string>> parse_names(const std::string& text, const std::string& flag);

// Whether `name` fits `pattern`, in which one `*` stands for any text.
bool matches(const std::string& pattern, const std::string& name);

// The last of `specs` that fits `name`; null if none does.
const ShapeSpec* find_shape(const std::vector<ShapeSpec>& specs, const std::string& name);

// Throws UsageError where a pattern stands twice among `specs`, which `flag` gave.
void check_repeats(const std::vector<ShapeSpec>& specs, const std::string& flag);

// Throws UsageError where the spec's numbers cannot be dims: one is negative, or there are too many.
void check_dims(const ShapeSpec& spec, const std::string& flag);

// Throws UsageError where a pattern fits none of `names`, naming the nearest one.
void check_names(const std::vector<ShapeSpec>& specs, const std::vector<std::string>& names, const std::string& flag);

// "1x3x224x224", with ? for a dim that is open (-1); "scalar" for no dims.
std::string format_dims(const std::vector<int64_t>& dims);
// "1x-1x48": the values of a shape input.
std::string format_values(const std::vector<int64_t>& values);

// "64" (MiB) or with a suffix B, K, M, G; decimals allowed. Throws UsageError.
uint64_t parse_size(const std::string& text, const std::string& flag);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_COMMON_SHAPE_SPEC_H_
