// What was built, as JSON (--exportLayerInfo).
#ifndef PLANWRIGHT_APPS_BUILDENGINE_LAYER_INFO_H_
#define PLANWRIGHT_APPS_BUILDENGINE_LAYER_INFO_H_

#include <string>
#include <vector>

#include "apps/buildengine/layer_pins.h"
#include "apps/buildengine/sensitivity.h"
#include "planfmt/plan_model.h"

namespace planwright::apps {

// Whether a step is a product of bytes.
bool multiplies_bytes(const planfmt::ProgramModel& program, const planfmt::StepModel& step);

// What a step computes in: bf16 or int8 where it multiplies in those, else the type of what it writes; "none".
std::string precision_of(const planfmt::PlanModel& plan, const planfmt::ProgramModel& program,
                         const planfmt::StepModel& step);

// {"Layers": [{Name, LayerType, Inputs, Outputs, TacticName, Precision, Pinned, Onnx, TimeUs, Profile}, ...],
//  "Bindings": [...],
//  "Arena": [{Profile, Size, ScratchPerWorker, Buffers: [{Offset, Size, First, Last}]}],
//  "Sensitivity": [{Name, Precision, Drop, GainUs}, ...]}
// A buffer's First and Last are the steps between which it is alive, both included; Size is rounded up to 64 bytes, as
// it is planned. Pinned is the precision that was demanded, absent where none was. Sensitivity is of --int8, else
// empty; Drop and GainUs are absent where they were not measured. Throws Error(kIo).
void export_layer_info(const planfmt::PlanModel& plan, const std::vector<LayerSensitivity>& sensitivity,
                       const LayerPins& pins, const std::string& path);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_LAYER_INFO_H_
