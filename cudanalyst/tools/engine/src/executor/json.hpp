// JSON objects as answers: written once, left to right.
#pragma once
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace cudanalyst::executor {

inline std::string quoted(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (byte >= 0x20 && byte < 0x7f) out += c;
    else out += {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
  }
  return out + '"';
}

// Members in the order in which they are added.
class Object {
 public:
  Object& add(std::string_view name, std::string_view value) { return raw(name, quoted(value)); }
  Object& add(std::string_view name, const char* value) { return raw(name, quoted(value)); }
  Object& add(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  Object& add(std::string_view name, std::integral auto value) { return raw(name, std::to_string(value)); }
  Object& add(std::string_view name, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    // Infinities and NaN are no JSON.
    return raw(name, value - value == 0 ? text : "null");
  }
  Object& add(std::string_view name, const Object& value) { return raw(name, value.text()); }
  // Text that is JSON already.
  Object& raw(std::string_view name, std::string_view value) {
    body_ += body_.empty() ? "" : ",";
    body_ += quoted(name) + ":";
    body_ += value;
    return *this;
  }
  std::string text() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

// An array of values that are JSON already.
inline std::string array(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() > 1 ? "," : "") + value;
  return out + "]";
}

}  // namespace cudanalyst::executor
