// Tensor maps: what the encoder refuses (CUDA driver API 13.0, cuTensorMapEncodeTiled), and that nothing is
// lost.
#include "sim/memory/tensor_map.hpp"

#include <catch2/catch.hpp>
#include <functional>

using namespace ptxwire::sim;

namespace {

/// A valid map of three dimensions.
TensorMapFields valid() {
  TensorMapFields fields;
  fields.type = TensorType::bf16;
  fields.rank = 3;
  fields.address = 1ULL << 40;
  fields.dims = {1000, 300, 7};
  fields.strides = {0, 2048, 2048 * 300};
  fields.box = {64, 32, 2};
  fields.element_strides = {1, 2, 1};
  fields.swizzle = TensorSwizzle::b128;
  fields.promotion = TensorPromotion::b256;
  fields.fill = TensorFill::nan;
  return fields;
}

}  // namespace

TEST_CASE("tensor map: what was encoded is read back", "[memory]") {
  const TensorMapFields fields = valid();
  const auto map = encode_tensor_map(fields);
  REQUIRE(map);
  const auto read = decode_tensor_map(map->bytes);
  REQUIRE(read.has_value());
  CHECK(read->type == fields.type);
  CHECK(read->rank == fields.rank);
  CHECK(read->address == fields.address);
  for (size_t d = 0; d < fields.rank; ++d) {
    CHECK(read->dims[d] == fields.dims[d]);
    CHECK(read->strides[d] == fields.strides[d]);
    CHECK(read->box[d] == fields.box[d]);
    CHECK(read->element_strides[d] == fields.element_strides[d]);
  }
  CHECK(read->swizzle == fields.swizzle);
  CHECK(read->promotion == fields.promotion);
  CHECK(read->fill == fields.fill);
  CHECK(read->box_bytes() == 64 * 2 * 16 * 2);  // every second of 32 rows
}

TEST_CASE("tensor map: the limits of the driver", "[memory]") {
  struct Row {
    const char* what;
    std::function<void(TensorMapFields&)> change;
    bool good;
  };
  const std::vector<Row> rows = {
      {"rank 0", [](auto& f) { f.rank = 0; }, false},
      {"rank 6", [](auto& f) { f.rank = 6; }, false},
      {"address of 8", [](auto& f) { f.address += 8; }, false},
      {"address of 16", [](auto& f) { f.address += 16; }, true},
      {"empty dimension", [](auto& f) { f.dims[2] = 0; }, false},
      {"dimension of 2^32", [](auto& f) { f.dims[2] = 1ULL << 32; }, true},
      {"dimension beyond 2^32", [](auto& f) { f.dims[2] = (1ULL << 32) + 1; }, false},
      {"stride of 8", [](auto& f) { f.strides[1] = 2056; }, false},
      {"stride of 2^40", [](auto& f) { f.strides[2] = 1ULL << 40; }, false},
      {"stride below 2^40", [](auto& f) { f.strides[2] = (1ULL << 40) - 16; }, true},
      {"stride below the dimension", [](auto& f) { f.strides[1] = 992; }, false},
      {"empty box", [](auto& f) { f.box[1] = 0; }, false},
      {"box of 256", [](auto& f) { f.box[1] = 256; }, true},
      {"box of 257", [](auto& f) { f.box[1] = 257; }, false},
      {"rows of 8 bytes", [](auto& f) { f.box[0] = 4; }, false},
      {"rows of 24 bytes", [](auto& f) { f.box[0] = 12; }, false},
      {"rows of 16 bytes", [](auto& f) { f.box[0] = 8; }, true},
      {"rows of 144 bytes, swizzle 128", [](auto& f) { f.box[0] = 72; }, false},
      {"rows of 128 bytes, swizzle 64", [](auto& f) { f.swizzle = TensorSwizzle::b64; }, false},
      {"rows of 64 bytes, swizzle 64", [](auto& f) { f.swizzle = TensorSwizzle::b64, f.box[0] = 32; }, true},
      {"rows of 48 bytes, swizzle 32", [](auto& f) { f.swizzle = TensorSwizzle::b32, f.box[0] = 24; }, false},
      {"rows of 32 bytes, swizzle 32", [](auto& f) { f.swizzle = TensorSwizzle::b32, f.box[0] = 16; }, true},
      {"rows of 512 bytes, no swizzle", [](auto& f) { f.swizzle = TensorSwizzle::none, f.box[0] = 256; },
       true},
      {"element stride 0", [](auto& f) { f.element_strides[1] = 0; }, false},
      {"element stride 8", [](auto& f) { f.element_strides[1] = 8; }, true},
      {"element stride 9", [](auto& f) { f.element_strides[1] = 9; }, false},
      {"the innermost element stride is not looked at", [](auto& f) { f.element_strides[0] = 0; }, true},
      {"NaN in integers", [](auto& f) { f.type = TensorType::u16; }, false},
      {"zero in integers", [](auto& f) { f.type = TensorType::u16, f.fill = TensorFill::zero; }, true},
      {"no type", [](auto& f) { f.type = TensorType::count; }, false},
      {"a swizzle of later architectures", [](auto& f) { f.swizzle = TensorSwizzle::count; }, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    TensorMapFields fields = valid();
    row.change(fields);
    const auto map = encode_tensor_map(fields);
    CHECK(static_cast<bool>(map) == row.good);
    if (!map) CHECK(map.error().message.find("tensor map: ") == 0);
  }
}

TEST_CASE("tensor map: other bytes are none", "[memory]") {
  const auto map = encode_tensor_map(valid());
  REQUIRE(map);
  CHECK_FALSE(decode_tensor_map(TensorMap{}.bytes).has_value());
  for (size_t at = 0; at < 8; ++at) {  // name, version, type, rank, swizzle
    TensorMap other = *map;
    other.bytes[at] ^= 0x80;
    CHECK_FALSE(decode_tensor_map(other.bytes).has_value());
  }
}
