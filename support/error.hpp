// Errors are values with context. Nothing below sim/cli prints or exits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace ptxwire {

/// What went wrong with something the user gave us. `path`/`line`/`column` name the place (line 0: none),
/// `message` says what is wrong and what was expected, `hint` (may be empty) what to do about it.
struct Error {
  std::string message;
  std::string path;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string hint;

  /// "path:line:column: error: message" followed by ", hint: ..." where there is one.
  [[nodiscard]] std::string to_string() const;
};

/// Either a value or an Error (std::expected is C++23).
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Expected(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Error> content_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace ptxwire
