// y += a * x on float32, at addresses in the device's memory (torch_quoll.address).
#include <torch/extension.h>

#include <cstdint>

void axpy(double a, std::int64_t x, std::int64_t y, std::int64_t size) {
  const auto* source = reinterpret_cast<const float*>(x);
  auto* target = reinterpret_cast<float*>(y);
  const auto factor = static_cast<float>(a);
  for (std::int64_t i = 0; i < size; ++i) {
    target[i] += factor * source[i];
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("axpy", &axpy, "y += a * x", pybind11::arg("a"), pybind11::arg("x"), pybind11::arg("y"),
        pybind11::arg("size"));
}
