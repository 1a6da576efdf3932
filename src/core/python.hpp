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

// What is needed of NumPy, looked up when the module is loaded; never destroyed, as Python may end before.
struct Numpy {
    nb::object empty, int64, float64, uint8;

    static void load() {
        const nb::module_ module = nb::module_::import_("numpy");
        const nb::object type = module.attr("dtype");
        loaded = new Numpy{module.attr("empty"), type("int64"), type("float64"), type("uint8")};
    }

    static inline const Numpy* loaded = nullptr;
};

// A new array, and where its elements are to be written.
template <class Element>
class NewArray {
public:
    explicit NewArray(nb::handle shape) : array_(Numpy::loaded->empty(shape, type())) {
        if (PyObject_GetBuffer(array_.ptr(), &buffer_, PyBUF_WRITABLE) != 0) throw nb::python_error();
    }

    NewArray(const NewArray&) = delete;
    NewArray& operator=(const NewArray&) = delete;
    ~NewArray() { PyBuffer_Release(&buffer_); }

    Element* data() const { return static_cast<Element*>(buffer_.buf); }
    const nb::object& object() const { return array_; }

private:
    static const nb::object& type() {
        if constexpr (std::is_same_v<Element, double>) return Numpy::loaded->float64;
        if constexpr (std::is_same_v<Element, std::int64_t>) return Numpy::loaded->int64;
        static_assert(std::is_same_v<Element, double> || std::is_same_v<Element, std::int64_t> ||
                      std::is_same_v<Element, std::uint8_t>);
        return Numpy::loaded->uint8;
    }

    nb::object array_;
    Py_buffer buffer_;
};

template <class Value>
nb::object array(std::vector<Value>&& values) {
    using Element = std::conditional_t<std::is_same_v<Value, char>, std::uint8_t, Value>;
    // To hand memory over takes longer than to copy what is short.
    if (values.size() * sizeof(Value) <= 1024) {
        const NewArray<Element> copy(nb::int_(values.size()));
        std::copy(values.begin(), values.end(), copy.data());
        return copy.object();
    }
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
    const std::int64_t first = texts.offsets.front();
    Strings strings;
    strings.offsets.assign(texts.offsets.begin(), texts.offsets.end());
    for (std::int64_t& offset : strings.offsets) offset -= first;
    strings.bytes.assign(texts.bytes + first, texts.bytes + texts.offsets.back());
    return strings;
}

// A subclass may give its items in an order of its own, as OrderedDict does; dict() asks it.
inline nb::object as_dict(const nb::object& mapping) {
    if (PyDict_CheckExact(mapping.ptr())) return mapping;
    return nb::borrow(reinterpret_cast<PyObject*>(&PyDict_Type))(mapping);
}

// Keys and values of an exact dict, kept alive whatever becomes of it.
inline std::vector<std::pair<nb::object, nb::object>> items_of(const nb::object& dict) {
    std::vector<std::pair<nb::object, nb::object>> items;
    items.reserve(static_cast<std::size_t>(PyDict_Size(dict.ptr())));
    PyObject *key, *value;
    for (Py_ssize_t position = 0; PyDict_Next(dict.ptr(), &position, &key, &value);) {
        items.emplace_back(nb::borrow(key), nb::borrow(value));
    }
    return items;
}

struct PythonIndex {
    Index core;

    PythonIndex(const Column& queries, const Integers& begin, const Column& rows)
        : core(copy(queries), std::vector<std::int64_t>(begin.data(), begin.data() + begin.size()), copy(rows)) {}
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
