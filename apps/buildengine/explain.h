// What --explain prints.
#ifndef PLANWRIGHT_APPS_BUILDENGINE_EXPLAIN_H_
#define PLANWRIGHT_APPS_BUILDENGINE_EXPLAIN_H_

#include <string>
#include <vector>

#include "tactics/explanation.h"

namespace planwright::apps {

// Throws UsageError where no name of `layers` contains `text`, naming near ones.
void check_explained(const std::string& text, const std::vector<std::string>& layers);

// Those layers whose names contain `text`, with every tactic's time or why it has none. Profiles are told apart where
// there are several.
std::string explanation_text(const std::vector<tactics::Explanation>& explanations, const std::string& text);

}  // namespace planwright::apps

#endif  // PLANWRIGHT_APPS_BUILDENGINE_EXPLAIN_H_
