/* A library's compiled module for test_compiled_classes.py. Its constructors take arrays of NumPy's own class
   only. `Sum` names a module that does not exist and may not be a base; `Mean` may be, and has pickles. The
   function `same_class` reads its argument as another compiled module does that looks `Mean` up. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

typedef struct { PyObject_HEAD double value; } Number;

static PyTypeObject Mean;

static int init(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"values", "weights", NULL};
    PyArrayObject *values, *weights = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O!", names, &PyArray_Type, &values, &PyArray_Type, &weights))
        return -1;
    npy_intp count = PyArray_SIZE(values);
    const double *from = PyArray_DATA(values), *by = weights ? PyArray_DATA(weights) : NULL;
    double sum = 0;
    for (npy_intp i = 0; i < count; i++) sum += from[i] * (by ? by[i] : 1);
    ((Number *)self)->value = PyType_IsSubtype(Py_TYPE(self), &Mean) ? sum / count : sum;
    return 0;
}

static PyObject *plus(PyObject *self, PyObject *other) {
    if (!PyArray_CheckExact(other)) return PyErr_Format(PyExc_TypeError, "an array is required");
    return PyFloat_FromDouble(((Number *)self)->value + *(double *)PyArray_DATA((PyArrayObject *)other));
}

static PyObject *value(PyObject *self, void *closure) { return PyFloat_FromDouble(((Number *)self)->value); }

/* Returns an object that C code has made, not the constructor. */
static PyObject *from_c(PyObject *cls, PyObject *number) {
    PyObject *self = Mean.tp_alloc(&Mean, 0);
    if (self) ((Number *)self)->value = PyFloat_AsDouble(number);
    return self;
}

static PyObject *reduce(PyObject *self, PyObject *unused) {
    PyObject *cls = (PyObject *)&Mean;
    npy_intp one = 1;
    PyObject *array = PyArray_SimpleNew(1, &one, NPY_DOUBLE);
    *(double *)PyArray_DATA((PyArrayObject *)array) = ((Number *)self)->value;
    return Py_BuildValue("O(N)", cls, array);
}

static PyObject *same_class(PyObject *module, PyObject *cls) { return PyBool_FromLong(cls == (PyObject *)&Mean); }

/* Calls and items of a `Mean`: plus an array, and an array in place of the number. */
static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *other;
    return PyArg_ParseTuple(args, "O", &other) ? plus(self, other) : NULL;
}

static int set_item(PyObject *self, PyObject *key, PyObject *array) {
    if (!PyArray_CheckExact(key) || !PyArray_CheckExact(array)) {
        PyErr_SetString(PyExc_TypeError, "an array is required");
        return -1;
    }
    ((Number *)self)->value = *(double *)PyArray_DATA((PyArrayObject *)array);
    return 0;
}

static PyMappingMethods items = {.mp_subscript = plus, .mp_ass_subscript = set_item};
static PyGetSetDef fields[] = {{"value", value, NULL, "the number", NULL}, {NULL}};
static PyMethodDef sum_methods[] = {{"plus", plus, METH_O, NULL}, {NULL}};
static PyMethodDef mean_methods[] = {
    {"plus", plus, METH_O, NULL}, {"from_c", from_c, METH_O | METH_CLASS, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL}, {NULL}};
/* What SWIG makes: the code that registers a class reads the fields of the function that deletes its objects. */
static PyObject *first(PyObject *module, PyObject *array) {
    if (!PyArray_CheckExact(array)) return PyErr_Format(PyExc_TypeError, "an array is required");
    return PyFloat_FromDouble(*(double *)PyArray_DATA((PyArrayObject *)array));
}

static PyObject *swigregister(PyObject *module, PyObject *deletes) {
    return PyLong_FromLong(((PyCFunctionObject *)deletes)->m_ml->ml_flags);
}

static PyMethodDef functions[] = {
    {"same_class", same_class, METH_O, NULL}, {"first", first, METH_O, NULL}, {"delete_Sum", first, METH_O, NULL},
    {"Sum_swigregister", swigregister, METH_O, NULL}, {NULL}};

static PyTypeObject Sum = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "elsewhere.Sum", .tp_basicsize = sizeof(Number),
    .tp_flags = Py_TPFLAGS_DEFAULT, .tp_doc = "Sum(values, weights=None)\n--\n\nA sum.", .tp_init = init,
    .tp_new = PyType_GenericNew, .tp_methods = sum_methods, .tp_getset = fields};
static PyTypeObject Mean = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled_classes.Mean", .tp_basicsize = sizeof(Number),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_doc = "A mean.", .tp_init = init,
    .tp_new = PyType_GenericNew, .tp_call = call, .tp_as_mapping = &items, .tp_methods = mean_methods, .tp_getset = fields};

/* Derived from `Mean`; calls give ten times as much. */
static PyObject *ten_times(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *once = call(self, args, kwargs), *ten = PyFloat_FromDouble(10), *product = NULL;
    if (once && ten) product = PyNumber_Multiply(once, ten);
    Py_XDECREF(once);
    Py_XDECREF(ten);
    return product;
}

static PyTypeObject Weighted = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "compiled_classes.Weighted", .tp_basicsize = sizeof(Number),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .tp_base = &Mean, .tp_init = init, .tp_call = ten_times};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "compiled_classes", NULL, -1, functions};

PyMODINIT_FUNC PyInit_compiled_classes(void) {
    import_array();
    PyObject *module = PyModule_Create(&definition);
    if (!module || PyType_Ready(&Sum) || PyType_Ready(&Mean)) return NULL;
    Weighted.tp_new = PyType_GenericNew;
    if (PyType_Ready(&Weighted)) return NULL;
    PyDict_SetItemString(Weighted.tp_dict, "name", PyUnicode_FromString("weighted"));
    PyModule_AddObjectRef(module, "Weighted", (PyObject *)&Weighted);
    PyModule_AddObjectRef(module, "Sum", (PyObject *)&Sum);
    PyModule_AddObjectRef(module, "Mean", (PyObject *)&Mean);
    return module;
}
