// Between Python's objects and the core's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <memory>
#include <utility>

#include "faults.hpp"
#include "index.hpp"
#include "source.hpp"
#include "table.hpp"

namespace cranfield {

namespace nb = nanobind;

using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Octets = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = std::pair<Integers, Octets>;

template <class Value>
nb::object array(std::vector<Value>&& values) {
    using Element = std::conditional_t<std::is_same_v<Value, char>, std::uint8_t, Value>;
    auto owned = std::make_unique<std::vector<Value>>(std::move(values));
    auto* const data = reinterpret_cast<Element*>(owned->data());
    const std::size_t size = owned->size();
    const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
    (void)owned.release();
    return nb::cast(nb::ndarray<nb::numpy, Element, nb::ndim<1>>(data, {size}, owner));
}

inline nb::object pair(Strings&& strings) {
    nb::object offsets = array(std::move(strings.offsets));
    return nb::make_tuple(offsets, array(std::move(strings.bytes)));
}

inline nb::bytes bytes(Text text) { return nb::bytes(text.data(), text.size()); }

inline void add_faults(nb::dict& result, Faults& faults) {
    nb::list shown;
    for (const Fault& fault : faults.shown()) {
        shown.append(
            nb::make_tuple(fault.line, nb::str(fault.kind), bytes(fault.query), bytes(fault.text), fault.other));
    }
    result["faults"] = shown;
    result["faults_total"] = faults.total();
}

inline std::span<const double> span(const Doubles& values) { return {values.data(), values.size()}; }

// Offsets come from outside: whatever they are, no text may lie outside the bytes.
inline StringsView view(const Column& column) {
    const std::span<const std::int64_t> offsets(column.first.data(), column.first.size());
    if (offsets.empty() || offsets.front() < 0 || static_cast<std::size_t>(offsets.back()) > column.second.size()) {
        throw nb::value_error("offsets must lie within the data");
    }
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        if (offsets[i - 1] > offsets[i]) throw nb::value_error("offsets must not descend");
    }
    return {offsets, reinterpret_cast<const char*>(column.second.data())};
}

inline Strings copy(const Column& column) {
    const StringsView texts = view(column);
    Strings strings;
    for (std::size_t i = 0; i < texts.size(); ++i) strings.add(texts[i]);
    return strings;
}

struct PythonIndex {
    Index core;

    PythonIndex(const Column& queries, const Integers& begin, const Column& rows)
        : core(copy(queries), std::vector<std::int64_t>(begin.data(), begin.data() + begin.size()), copy(rows)) {}

    // A judged id as Python has it; made when it is first asked for.
    nb::handle document(std::size_t row) {
        if (documents_.empty()) documents_.resize(core.documents());
        nb::object& made = documents_[row];
        if (!made.is_valid()) {
            const Text text = core.document(row);
            const auto size = static_cast<Py_ssize_t>(text.size());
            made = nb::steal(PyUnicode_DecodeUTF8(text.data(), size, "surrogateescape"));
            if (!made.is_valid()) throw nb::python_error();
        }
        return made;
    }

private:
    std::vector<nb::object> documents_;
};

// An object with `readinto`. Bytes go through a bytearray of its own: whoever keeps the view that it was
// handed keeps that alive, and never sees memory of the core.
class Stream final : public Source {
public:
    explicit Stream(nb::object stream) : readinto_(stream.attr("readinto")) {
        buffer_ = nb::steal(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
        if (!buffer_.is_valid()) throw nb::python_error();
    }

    ~Stream() override {
        const nb::gil_scoped_acquire gil;
        readinto_.reset();
        buffer_.reset();
    }

    std::size_t read(char* into, std::size_t wanted, const std::atomic<bool>& stop) override {
        if (stop) throw Stopped();
        const nb::gil_scoped_acquire gil;
        wanted = std::min(wanted, size);
        const nb::object whole = nb::steal(PyMemoryView_FromObject(buffer_.ptr()));
        if (!whole.is_valid()) throw nb::python_error();
        const nb::object count = readinto_(whole[nb::slice(nb::int_(0), nb::int_(wanted), nb::int_(1))]);
        if (count.is_none()) return 0;
        const Py_ssize_t read = PyNumber_AsSsize_t(count.ptr(), PyExc_OverflowError);
        if (read == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
        if (read < 0 || static_cast<std::size_t>(read) > wanted) {
            throw nb::value_error("readinto returned an impossible count");
        }
        std::memcpy(into, PyByteArray_AsString(buffer_.ptr()), static_cast<std::size_t>(read));
        return static_cast<std::size_t>(read);
    }

private:
    static constexpr std::size_t size = std::size_t{1} << 18;

    nb::object readinto_;
    nb::object buffer_;
};

inline std::unique_ptr<Source> open_source(const nb::callable& opener) {
    nb::object opened = opener();
    if (PyLong_Check(opened.ptr())) return std::make_unique<File>(nb::cast<int>(opened));
    return std::make_unique<Stream>(std::move(opened));
}

}  // namespace cranfield
