"""Runs an engine from Python through the loader's C functions: for the scripts here and in tests/accuracy."""
import ctypes

import numpy as np

MAX_RANK = 8
DTYPES = [np.float32, np.float64, np.float16, np.uint16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
          np.uint32, np.uint64, np.bool_] + [np.uint8] * 8 + [np.int8, np.uint8, np.int8, np.uint8]
# pw_dtype's order; types that NumPy has not as their bits


class _Binding(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("is_input", ctypes.c_int32),
                ("rank", ctypes.c_size_t), ("dims", ctypes.c_int64 * MAX_RANK)]


class _ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32)]


class Engine:
    """An open engine and one context of it. `engine({"x": array})` gives {"y": array}; raises RuntimeError with the
    library's words. Close it, or use it in a `with`."""

    def __init__(self, library, path, threads=0):
        self._library = ctypes.CDLL(str(library))
        self._library.pw_last_error.restype = ctypes.c_char_p
        self._library.pw_engine_binding_count.restype = ctypes.c_size_t
        self._engine, self._context = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("pw_engine_open", str(path).encode(), None, ctypes.byref(self._engine))
        options = _ContextOptions(ctypes.sizeof(_ContextOptions), threads)
        self._call("pw_context_create", self._engine, ctypes.byref(options), ctypes.byref(self._context))
        self.inputs, self.outputs = {}, {}  # name -> numpy dtype
        for index in range(self._library.pw_engine_binding_count(self._engine)):
            binding = _Binding()
            self._call("pw_engine_binding", self._engine, ctypes.c_size_t(index), ctypes.byref(binding))
            side = self.inputs if binding.is_input else self.outputs
            side[binding.name.decode()] = np.dtype(DTYPES[binding.dtype])

    def _call(self, name, *arguments):
        if getattr(self._library, name)(*arguments):
            raise RuntimeError(f"{name}: {self._library.pw_last_error().decode()}")

    def _bind(self, name, array):
        self._call("pw_context_bind", self._context, name.encode(), ctypes.c_void_p(array.ctypes.data),
                   ctypes.c_size_t(array.nbytes))

    def _output_limit(self, name):
        limit = ctypes.c_size_t()
        self._call("pw_context_output_limit", self._context, name.encode(), ctypes.byref(limit))
        return limit.value

    def _whole(self, name, buffer):
        """What a run has put into an output's buffer; data may have decided how much that is."""
        shape, dtype = self._output_shape(name), self.outputs[name]
        return buffer[:int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape)

    def _output_shape(self, name):
        dims, rank = (ctypes.c_int64 * MAX_RANK)(), ctypes.c_size_t(MAX_RANK)
        self._call("pw_context_output_shape", self._context, name.encode(), dims, ctypes.byref(rank))
        return tuple(dims[:rank.value])

    def bind(self, feeds):
        """For many runs on the same arrays: a function that runs, and one that gives the last run's outputs, which the
        next run overwrites. Both hold until the next bind or call."""
        feeds = {name: np.require(array, self.inputs[name], "C") for name, array in feeds.items()}
        for name, array in feeds.items():
            dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            self._call("pw_context_set_input_shape", self._context, name.encode(), dims, ctypes.c_size_t(array.ndim))
            self._bind(name, array)
        buffers = {name: np.empty(self._output_limit(name), np.uint8) for name in self.outputs}
        for name, array in buffers.items():
            self._bind(name, array)
        self._bound = feeds, buffers  # the library reads and writes them in place

        def run():
            self._call("pw_context_run", self._context)

        return run, lambda: {name: self._whole(name, buffer) for name, buffer in buffers.items()}

    def __call__(self, feeds):
        run, outputs = self.bind(feeds)
        run()
        return outputs()

    def close(self):
        self._library.pw_context_destroy(self._context)
        self._library.pw_engine_close(self._engine)
        self._context = self._engine = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
