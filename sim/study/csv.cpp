#include "sim/study/csv.hpp"

namespace ptxwire::sim {
namespace {

/// Walks the text field by field.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Expected<std::vector<CsvRecord>> read() {
    std::vector<CsvRecord> records;
    while (position_ < text_.size()) {
      CsvRecord record{.line = line_};
      if (Expected<void> done = read_record(record); !done) return done.error();
      if (record.fields.size() == 1 && record.fields.front().empty()) continue;
      if (!records.empty() && record.fields.size() != records.front().fields.size()) {
        return error(record.line, "expected " + std::to_string(records.front().fields.size()) +
                                      " fields as in the first line, found " +
                                      std::to_string(record.fields.size()));
      }
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  [[nodiscard]] Error error(uint32_t line, std::string message) const {
    return Error{.message = std::move(message), .path = path_, .line = line};
  }

  /// One record up to and including its line end.
  Expected<void> read_record(CsvRecord& record) {
    while (true) {
      std::string field;
      if (position_ < text_.size() && text_[position_] == '"') {
        if (Expected<void> done = read_quoted(field); !done) return done;
      } else {
        while (position_ < text_.size() && !ends_field(text_[position_])) field += text_[position_++];
      }
      record.fields.push_back(std::move(field));
      if (position_ >= text_.size()) return {};
      const char end = text_[position_++];
      if (end == ',') continue;
      if (end == '\r' && position_ < text_.size() && text_[position_] == '\n') ++position_;
      ++line_;
      return {};
    }
  }

  Expected<void> read_quoted(std::string& field) {
    const uint32_t opened = line_;
    for (++position_; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (c == '\n') ++line_;
      if (c != '"') {
        field += c;
      } else if (position_ + 1 < text_.size() && text_[position_ + 1] == '"') {
        field += '"';
        ++position_;
      } else {
        ++position_;
        if (position_ < text_.size() && !ends_field(text_[position_])) {
          return error(line_, "expected a comma after a closing quote");
        }
        return {};
      }
    }
    return error(opened, "a quoted field never ends");
  }

  static bool ends_field(char c) { return c == ',' || c == '\n' || c == '\r'; }

  std::string_view text_;
  const std::string& path_;
  size_t position_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

Expected<std::vector<CsvRecord>> parse_csv(std::string_view text, const std::string& path) {
  return CsvReader(text, path).read();
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace ptxwire::sim
