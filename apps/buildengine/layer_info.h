// What was built, as JSON (--exportLayerInfo).
#ifndef PLANWRIGHT_APPS_BUILDENGINE_LAYER_INFO_H_
#define PLANWRIGHT_APPS_BUILDENGINE_LAYER_INFO_H_

#include <string>

#include "planfmt/plan_model.h"

namespace planwright::apps {

// What a step computes in: bf16 where its kernel multiplies in it, else the type of what it writes; "none".
std::string precision_of(const planfmt::PlanModel& plan, const planfmt::ProgramModel& program,
                         const planfmt::StepModel& step);

// {"Layers": [{Name, LayerType, Inputs, Outputs, TacticName, Precision, Onnx, TimeUs, Profile}, ...], "Bindings":
// [...],
//  "Arena": [{Profile, Size, ScratchPerWorker, Buffers: [{Offset, Size, First, Last}]}]}
// A buffer's First and Last are the steps between which it is alive, both included; Size is rounded up to 64 bytes, as
// it is planned. Throws Error(kIo).
void export_layer_info(const planfmt::PlanModel& plan, const std::string& path);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_LAYER_INFO_H_
