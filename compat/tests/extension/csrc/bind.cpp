#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "normalize.h"

static PyObject *py_count(PyObject *, PyObject *) {
    const char *says = "";
    int count = count_devices(&says);
    return Py_BuildValue("is", count, says);
}

static PyMethodDef METHODS[] = {{"count_devices", py_count, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "normalize", "", -1, METHODS, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_normalize() { return PyModule_Create(&MODULE); }
