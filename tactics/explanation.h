// Why a layer got the tactic it has (--explain): what became of each that was considered.
#ifndef PLANWRIGHT_TACTICS_EXPLANATION_H_
#define PLANWRIGHT_TACTICS_EXPLANATION_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace planwright::tactics {

struct Contest;

struct ExplainedTactic {
  std::string name;    // the kernel, and its parameters where it has any
  float time_us = 0;   // lower quartile; 0: it has no time
  float spread = 0;    // relative
  std::string remark;  // why it has no time, or a rough one only; may be empty
  bool is_chosen = false;
};

struct Explanation {
  std::string layer, op;
  size_t profile = 0;                                           // filled in by who knows profiles
  std::string basis;                                            // what the choice rests on, as words
  std::vector<ExplainedTactic> tactics;                         // fastest first, then those without a time
  std::vector<std::pair<std::string, std::string>> refused_by;  // (reason, kernels): never candidates
};

// Of the layer called `layer`, once its contest is decided and candidate `chosen` taken.
Explanation explain(const Contest& contest, const std::string& layer, size_t chosen);

}  // namespace planwright::tactics

#endif  // PLANWRIGHT_TACTICS_EXPLANATION_H_
