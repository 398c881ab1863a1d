#include "sim/study/rank_order.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace ptxwire::sim {
namespace {

/// From 1; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double shared = 1 + static_cast<double>(first + last) / 2;
    for (; first <= last; ++first) ranks[order[first]] = shared;
  }
  return ranks;
}

std::optional<double> pearson(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double products = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    products += (a[i] - mean_a) * (b[i] - mean_b);
    squares_a += (a[i] - mean_a) * (a[i] - mean_a);
    squares_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (squares_a == 0 || squares_b == 0) return std::nullopt;
  return products / std::sqrt(squares_a * squares_b);
}

/// Everything that must be equal but the setting number `knob`.
std::string where_of(const Measurement& row, size_t knob) {
  std::string where = row.source_id + ' ' + row.scenario + ' ' + row.metric;
  for (size_t i = 0; i < row.settings.size(); ++i)
    if (i != knob) where += ' ' + row.settings[i];
  return where;
}

}  // namespace

std::optional<double> rank_correlation(const std::vector<std::pair<double, double>>& pairs) {
  if (pairs.size() < 2) return std::nullopt;
  std::vector<double> predicted, measured;
  for (const auto& [p, m] : pairs) {
    predicted.push_back(p);
    measured.push_back(m);
  }
  return pearson(ranks_of(predicted), ranks_of(measured));
}

std::vector<KnobOrder> knob_orders(const std::vector<PredictedRow>& rows) {
  constexpr size_t kFewest = 4;
  struct Set {
    size_t first = 0;
    std::vector<const PredictedRow*> rows;
  };
  std::map<std::pair<std::string, std::string>, Set> sets;  // by knob and everything else
  for (size_t i = 0; i < rows.size(); ++i) {
    const Measurement& row = *rows[i].measurement;
    for (size_t knob = 0; knob < row.settings.size(); ++knob) {
      const std::string key = row.settings[knob].substr(0, row.settings[knob].find('='));
      Set& set = sets.try_emplace({key, where_of(row, knob)}, Set{.first = i}).first->second;
      set.rows.push_back(&rows[i]);
    }
  }
  std::vector<std::pair<size_t, KnobOrder>> found;
  for (const auto& [name, set] : sets) {
    if (set.rows.size() < kFewest) continue;
    KnobOrder order{.knob = name.first, .where = name.second};
    std::vector<std::pair<double, double>> pairs;
    for (const PredictedRow* row : set.rows) {
      order.ids.push_back(row->measurement->id);
      pairs.emplace_back(row->predicted, row->measurement->value);
    }
    order.correlation = rank_correlation(pairs);
    found.emplace_back(set.first, std::move(order));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<KnobOrder> orders;
  for (auto& [first, order] : found) orders.push_back(std::move(order));
  return orders;
}

}  // namespace ptxwire::sim
