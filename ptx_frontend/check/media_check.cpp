// Operands of textures, surfaces and video instructions.
#include <algorithm>

#include "ptx_frontend/check/operand_check.hpp"
#include "ptx_frontend/check/operand_message.hpp"
#include "ptx_frontend/syntax/selector.hpp"

namespace ptxwire::ptx {
namespace {

using Result = std::optional<OperandError>;

struct Geometry {
  std::string_view word;
  unsigned coordinates = 1;
  bool array = false;  ///< the first coordinate is the number of a layer
  bool floating_only = false;
  unsigned dimensions = 0;  ///< of a gradient; 0: any number is taken
  bool integer_only = false;
};
constexpr Geometry kGeometries[] = {
    {"1d", 1, false, false, 1}, {"2d", 2, false, false, 2},         {"3d", 4, false, false, 4},
    {"a1d", 2, true, false, 1}, {"a2d", 4, true, false, 2},         {"cube", 4, false, true},
    {"acube", 4, true, true},   {"2dms", 4, false, false, 0, true}, {"a2dms", 4, true, false, 0, true}};

/// The geometry of "tex.level.a2d.v4.f32.f32".
const Geometry& geometry_of(std::string_view spelling) {
  while (!spelling.empty()) {
    const size_t dot = std::min(spelling.find('.'), spelling.size());
    for (const Geometry& geometry : kGeometries) {
      if (geometry.word == spelling.substr(0, dot)) return geometry;
    }
    spelling.remove_prefix(std::min(dot + 1, spelling.size()));
  }
  return kGeometries[0];
}

bool digits_within(std::string_view digits, char last) {
  return std::all_of(digits.begin(), digits.end(), [&](char c) { return c >= '0' && c <= last; });
}

/// A permutation of lanes: one digit per lane, of the lanes of both sources.
bool is_permutation(std::string_view selector, unsigned lanes) {
  const char kind = lanes == 2 ? 'h' : 'b';
  return selector.size() == lanes + 1 && selector[0] == kind &&
         digits_within(selector.substr(1), lanes == 2 ? '3' : '7');
}

/// A mask of lanes: their numbers, the highest first.
bool is_mask(std::string_view selector, unsigned lanes) {
  if (selector.empty() || selector[0] != (lanes == 2 ? 'h' : 'b')) return false;
  const std::string_view digits = selector.substr(1);
  return digits_within(digits, lanes == 2 ? '1' : '3') &&
         std::adjacent_find(digits.begin(), digits.end(), [](char a, char b) { return a <= b; }) ==
             digits.end();
}

bool is_part(std::string_view selector) {
  return selector.size() == 2 &&
         ((selector[0] == 'b' && selector[1] <= '3') || (selector[0] == 'h' && selector[1] <= '1'));
}

}  // namespace

Result OperandChecker::check_handle(const Operand& operand, std::optional<bool> surface) const {
  const Symbol* symbol = symbol_of(operand);
  if (symbol == nullptr)
    return operand.kind == OperandKind::identifier
               ? Result{}
               : mismatch(operand, "expected the handle of a texture or surface");
  const bool wide = symbol->type == Type::u64 || symbol->type == Type::b64 || symbol->type == Type::s64;
  const bool variable = !surface || (symbol->type == Type::u64 && !symbol->is_array);
  const bool fits = symbol->kind == SymbolKind::reg ? wide : variable;
  if (fits) return {};
  return mismatch(operand, quoted(operand.name) +
                               " is no handle, expected a 64-bit register or a variable of type " +
                               (surface.value_or(false) ? ".surfref" : ".texref"));
}

Result OperandChecker::check_texture(const Modifiers& m, const Operand& operand, std::string_view spelling,
                                     bool surface) const {
  const bool query = spelling.starts_with("txq") || spelling.starts_with("suq");
  const std::string_view kind = surface ? "surface" : "texture";
  const size_t most = surface ? 2 : 3;
  if (operand.kind != OperandKind::address ||
      (query ? operand.elements.size() != 1
             : operand.elements.size() < 2 || operand.elements.size() > most)) {
    return mismatch(operand, query
                                 ? "expected the handle of a " + std::string(kind) + " in brackets, [%rd1]"
                                 : "expected a " + std::string(kind) + " with coordinates, [%rd1, {x, ...}]");
  }
  for (size_t i = 0; i + (query ? 0 : 1) < operand.elements.size(); ++i) {
    if (Result error = check_handle(operand.elements[i], surface)) return error;
  }
  if (query) return {};
  const Geometry& geometry = geometry_of(spelling);
  const Operand& coordinates = operand.elements.back();
  const Type type = surface ? Type::s32 : m.source_type;
  if (geometry.floating_only && type != Type::f32) return mismatch(operand, "coordinates of a cube are .f32");
  if (coordinates.kind != OperandKind::vector)
    return check_value(OperandSpec{}, geometry.array ? Type::u32 : type, coordinates);
  const size_t count = coordinates.elements.size();
  if (count < geometry.coordinates || count == 3 || count > 4) {
    return mismatch(coordinates, "coordinates of ." + std::string(geometry.word) + " are " +
                                     std::to_string(geometry.coordinates) + " values in braces, found " +
                                     std::to_string(count));
  }
  for (size_t i = 0; i < count; ++i) {
    const bool layer = geometry.array && i == 0;
    if (Result error = check_value(OperandSpec{}, layer ? Type::u32 : type, coordinates.elements[i]))
      return error;
  }
  return {};
}

Result OperandChecker::check_gradient(const Operand& operand, std::string_view spelling) const {
  const Geometry& geometry = geometry_of(spelling);
  if (operand.kind != OperandKind::vector)
    return mismatch(operand, "expected derivatives in braces, { ... }");
  if (geometry.dimensions != 0 && operand.elements.size() != geometry.dimensions) {
    return mismatch(operand, "derivatives of ." + std::string(geometry.word) + " are " +
                                 std::to_string(geometry.dimensions) + " values in braces, found " +
                                 std::to_string(operand.elements.size()));
  }
  for (const Operand& value : operand.elements) {
    if (Result error = check_value(OperandSpec{}, Type::f32, value)) return error;
  }
  return {};
}

Result OperandChecker::check_video(const OperandSpec& spec, const Operand& operand) const {
  if (operand.negated && !spec.signed_part)
    return mismatch(operand, "a sign does not go with .po or this operand");
  const bool lanes = spec.kind != OperandClass::part;
  if (operand.kind == OperandKind::integer && lanes)
    return mismatch(operand, "expected a 32-bit register, found a constant");
  Operand plain = operand;
  plain.negated = false;
  const bool selected = operand.kind == OperandKind::identifier && operand.component == kSelector;
  if (selected) {
    const std::string_view selector = selector_of(operand);
    const bool fits = spec.kind == OperandClass::part    ? is_part(selector)
                      : spec.kind == OperandClass::lanes ? is_permutation(selector, spec.lane_count)
                                                         : is_mask(selector, spec.lane_count);
    if (!fits) {
      const std::string_view wanted =
          spec.kind == OperandClass::part ? ".b0 to .b3, .h0 or .h1"
          : spec.kind == OperandClass::mask
              ? (spec.lane_count == 2 ? ".h0, .h1 or .h10" : ".b3210 or fewer of its digits")
          : spec.lane_count == 2 ? "two digits of halves such as .h10"
                                 : "four digits of bytes such as .b3210";
      return mismatch(
          operand, "'." + std::string(selector) + "' selects nothing here, expected " + std::string(wanted));
    }
    plain.component = 0;
  }
  OperandSpec value;
  value.destination = spec.destination;
  return check_value(value, Type::b32, plain);
}

}  // namespace ptxwire::ptx
