// Layers whose precision the user demands (--layerPrecisions, --layerOutputTypes, --precisionConstraints).
#ifndef PLANWRIGHT_APPS_BUILDENGINE_LAYER_PINS_H_
#define PLANWRIGHT_APPS_BUILDENGINE_LAYER_PINS_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "builder/build.h"
#include "planfmt/plan_model.h"

namespace planwright::apps {

enum class PinType { kFp32, kBf16, kInt8 };
const char* name_of(PinType type);

// What to do where a pin cannot hold: `prefer` warns, `obey` fails the build.
enum class PinConstraint { kNone, kPrefer, kObey };

// The layers whose names fit, and a type for each of their outputs, or one for all.
struct LayerSpec {
  std::string pattern;  // one * stands for anything
  std::vector<PinType> types;
};

struct PinFlags {
  std::vector<LayerSpec> precisions, output_types;  // later ones win
  PinConstraint constraint = PinConstraint::kPrefer;
  bool empty() const { return constraint == PinConstraint::kNone || (precisions.empty() && output_types.empty()); }
};

// "name:fp32,other*:int8", `+` between the types of several outputs. Throws UsageError, quoting what is wrong and
// `flag`.
std::vector<LayerSpec> parse_layer_specs(const std::string& text, const std::string& flag);
PinConstraint parse_constraint(const std::string& text);

// The names of the user's nodes that a graph and its bodies are made of.
std::vector<std::string> node_names(const ir::Graph& graph);

// A pin that cannot hold.
struct UnheldPin {
  std::string layer, why;
};

// What is demanded of a model's nodes. A fused layer has the pin of the nodes that it is made of: the first one's that
// has any.
class LayerPins {
 public:
  LayerPins() = default;  // none
  // `names`: of all nodes. Throws UsageError where a spec fits none of them, naming near ones.
  LayerPins(const PinFlags& flags, const std::vector<std::string>& names);

  bool empty() const { return precisions_.empty() && output_types_.empty(); }
  bool obeys() const { return obeys_; }
  std::optional<PinType> precision_of(const std::vector<std::string>& nodes) const;
  std::optional<PinType> output_type_of(const std::vector<std::string>& nodes) const;

  // The steps of `floats`, a build in fp32, that layers with pins became.
  builder::StepPins steps(const planfmt::PlanModel& floats) const;

  // Which layers have to be int8 and which must not, for what they are or for what makes the tensor that they read:
  // a tensor is stored as levels only for those.
  struct Quantised {
    std::set<std::string> int8, floats;
    std::vector<UnheldPin> unheld;  // pins that contradict one another, or of which no layer can make anything
  };
  Quantised quantised(const planfmt::PlanModel& floats, const std::vector<ir::QuantisableLayer>& layers) const;

  // Pins that do not hold in a plan. Those to int8 of `still_open`, layers that are yet to be quantised, do.
  std::vector<UnheldPin> unheld(const planfmt::PlanModel& plan, const std::set<std::string>& still_open = {}) const;

 private:
  std::map<std::string, PinType> precisions_, output_types_;  // by node
  bool obeys_ = false;
};

// Throws Error(kInvalid) where pins are obeyed, else warns; one message for all.
void report_unheld(const std::vector<UnheldPin>& pins, bool obeys, const std::function<void(const std::string&)>& warn);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_LAYER_PINS_H_
