//! Rows of a store as Arrow: made once, then handed to any library of Arrow without a copy, by the Arrow PyCapsule interface.

use crate::fault;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use baton_cli::call;
use baton_studio::store::{Column, Table, Values};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of a store.
#[pyclass(frozen, module = "baton._baton")]
pub(crate) struct Rows(RecordBatch);

fn array(values: Values<'_>) -> ArrayRef {
    match values {
        Values::Whole(all) => Arc::new(Int64Array::from_iter(all.iter().copied())),
        Values::Number(all) => Arc::new(Float64Array::from_iter(all.iter().copied())),
        Values::Text(all) => Arc::new(StringArray::from_iter(all)),
        Values::Switch(all) => Arc::new(BooleanArray::from_iter(all.iter().copied())),
    }
}

/// A column's name and sort; its unit and meaning are in the field's metadata.
fn field(column: &Column, kind: &DataType) -> Field {
    let said = [("unit", &column.unit), ("what", &column.what), ("source", &column.source)];
    let said = said.into_iter().filter(|(_, text)| !text.is_empty());
    let metadata: HashMap<String, String> = said.map(|(key, text)| (key.to_owned(), text.clone())).collect();
    Field::new(&column.name, kind.clone(), true).with_metadata(metadata)
}

fn batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let arrays: Vec<ArrayRef> = (0..table.columns().len()).map(|column| array(table.values(column))).collect();
    let fields = table.columns().iter().zip(&arrays).map(|(column, array)| field(column, array.data_type()));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), arrays)
}

fn failed(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// The rows of a store in which the condition holds, with these columns, or all.
#[pyfunction]
#[pyo3(signature = (folder, condition, columns))]
pub(crate) fn table(
    py: Python<'_>,
    folder: PathBuf,
    condition: Option<String>,
    columns: Vec<String>,
) -> PyResult<Rows> {
    let read = py.detach(|| call::table(&folder, condition.as_deref(), &columns));
    let table = read.map_err(|fault| fault::error(py, &fault))?;
    py.detach(|| batch(&table)).map(Rows).map_err(failed)
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column, `None` for null.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.0.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let column = column.as_any();
        if let Some(all) = column.downcast_ref::<Int64Array>() {
            PyList::new(py, all.iter().collect::<Vec<_>>())
        } else if let Some(all) = column.downcast_ref::<Float64Array>() {
            PyList::new(py, all.iter().collect::<Vec<_>>())
        } else if let Some(all) = column.downcast_ref::<BooleanArray>() {
            PyList::new(py, all.iter().collect::<Vec<_>>())
        } else if let Some(all) = column.downcast_ref::<StringArray>() {
            PyList::new(py, all.iter().collect::<Vec<_>>())
        } else {
            Err(PyRuntimeError::new_err(format!("column `{name}` has a sort of its own")))
        }
    }

    /// The units of the columns that have one.
    #[getter]
    fn units(&self) -> HashMap<String, String> {
        let schema = self.0.schema();
        let unit = |field: &Arc<Field>| Some((field.name().clone(), field.metadata().get("unit")?.clone()));
        schema.fields().iter().filter_map(unit).collect()
    }

    /// The rows as a stream of the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to pass the wish for another schema over.
        drop(requested_schema);
        let schema = self.0.schema();
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
