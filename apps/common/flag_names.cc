#include "apps/common/flag_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "apps/common/console.h"

namespace planwright::apps {
namespace {

// Slips that make `a` of `b`: a letter more, less or another, or two neighbours swapped. Letters in either case are the
// same.
size_t edit_distance(const std::string& a, const std::string& b) {
  const auto same = [&](size_t i, size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<std::vector<size_t>> slips(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        slips[i][j] = i + j;
        continue;
      }
      slips[i][j] =
          std::min({slips[i - 1][j] + 1, slips[i][j - 1] + 1, slips[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
    }
  }
  return slips[a.size()][b.size()];
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11 takes the next argument for the value that "--flag=" or "--flag" lacks, be it a flag itself.
void check_values_present(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw UsageError(fmt::format("{} needs a value after the =", word.substr(0, word.size() - 1)));
    }
    const CLI::Option* option = word.starts_with("--") ? app.get_option_no_throw(word) : nullptr;
    const bool takes_value = option != nullptr && option->get_items_expected_min() > 0;
    if (takes_value && i + 1 < argc && std::string(argv[i + 1]).starts_with("--")) {
      throw UsageError(fmt::format("{} needs a value, and {} is a flag", word, argv[i + 1]));
    }
  }
}

std::string bounds(const std::string& low, const std::string& high, bool has_high) {
  return has_high ? fmt::format("from {} to {}", low, high) : fmt::format("of at least {}", low);
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Throws UsageError for what the command line holds beyond the flags of `app`.
void refuse_unknown(const CLI::App& app, const std::vector<KnownFlag>& known) {
  for (const std::string& extra : app.remaining()) {
    const std::string name = extra.substr(0, extra.find('='));
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const KnownFlag& flag) { return name == flag.name; });
    if (found != known.end()) throw UsageError(fmt::format("{} is not available: {}", name, found->advice));
    const std::vector<std::string> own = flags_of(app);
    for (const auto& [program, flags] :
         {std::pair("buildengine", &kBuildengineFlags), std::pair("runengine", &kRunengineFlags)}) {
      if (contains(*flags, name) && !contains(own, name)) {
        throw UsageError(fmt::format("{} is a flag of {}", name, program));
      }
    }
    const std::string close = nearest(name, own);
    throw UsageError(fmt::format("unknown flag {}{}", name,
                                 close.empty() ? "; --help lists them" : fmt::format("; did you mean {}?", close)));
  }
}

}  // namespace

const std::vector<std::string> kBuildengineFlags = {"--onnx",
                                                    "--saveEngine",
                                                    "--minShapes",
                                                    "--optShapes",
                                                    "--maxShapes",
                                                    "--profile",
                                                    "--isa",
                                                    "--bf16",
                                                    "--avgTiming",
                                                    "--memPoolSize",
                                                    "--builderOptimizationLevel",
                                                    "--tacticSources",
                                                    "--check",
                                                    "--dryRun",
                                                    "--skipInference",
                                                    "--exportLayerInfo",
                                                    "--timingCacheFile",
                                                    "--budget",
                                                    "--maxDrop",
                                                    "--int8",
                                                    "--best",
                                                    "--calibData",
                                                    "--calib",
                                                    "--calibrator",
                                                    "--evalData",
                                                    "--layerPrecisions",
                                                    "--layerOutputTypes",
                                                    "--precisionConstraints",
                                                    "--weightOnly",
                                                    "--contexts",
                                                    "--maxTactics",
                                                    "--explain"};

const std::vector<std::string> kRunengineFlags = {"--loadEngine",
                                                  "--useProfile",
                                                  "--useOptimizationProfile",
                                                  "--loadInputs",
                                                  "--saveOutputs",
                                                  "--testData",
                                                  "--rtol",
                                                  "--atol",
                                                  "--accuracyAlgorithm",
                                                  "--iterations",
                                                  "--accuracyThreshold",
                                                  "--warmUp",
                                                  "--duration",
                                                  "--avgRuns",
                                                  "--percentile",
                                                  "--infStreams",
                                                  "--pin",
                                                  "--dumpProfile",
                                                  "--exportProfile",
                                                  "--separateProfileRun",
                                                  "--exportTimes",
                                                  "--dumpOutput",
                                                  "--exportOutput",
                                                  "--dumpLayerInfo",
                                                  "--inspect",
                                                  "--verify"};

CLI::Validator whole_number(int64_t low, int64_t high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        int64_t value = 0;
        const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = stop == text.data() + text.size() && failure == std::errc();
        if (whole && value >= low && value <= high) return std::string();
        return fmt::format("must be a whole number {}, not '{}'",
                           bounds(std::to_string(low), std::to_string(high), high != INT32_MAX), text);
      },
      "");
}

CLI::Validator real_number(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        double value = 0;
        const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = stop == text.data() + text.size() && failure == std::errc() && std::isfinite(value);
        if (is_number && value >= low && value <= high) return std::string();
        return fmt::format("must be a number {}, not '{}'",
                           bounds(fmt::format("{:g}", low), fmt::format("{:g}", high), std::isfinite(high)), text);
      },
      "");
}

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  // A slip or two of the finger; further than that is another word.
  const size_t letters = name.size() - std::min(name.size(), name.find_first_not_of('-'));
  size_t best_distance = letters < 2 ? 1 : letters < 8 ? 2 : 3;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

bool parse_flags(CLI::App& app, int argc, char** argv, const std::vector<KnownFlag>& known) {
  check_values_present(app, argc, argv);
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request);
    return false;
  } catch (const CLI::RequiredError& error) {
    refuse_unknown(app, known);  // the flag that is missing may be there, misspelt
    throw UsageError(error.what());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  refuse_unknown(app, known);
  return true;
}

}  // namespace planwright::apps
