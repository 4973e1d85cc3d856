//! Rows as Parquet, through the `parquet` crate without Arrow: four types of columns need none.
//! Units and meanings stand in the file's metadata under `baton.columns`.

use super::column::Column;
use super::row::Row;
use super::table::Table;
use crate::value::{Kind, Value};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// The key of the metadata that describes the columns.
pub(crate) const COLUMNS: &str = "baton.columns";
/// The most rows of a row group.
const GROUP: usize = 1 << 16;

/// Writes rows. `columns` are all columns of the store.
pub(crate) fn write<W: Write + Send>(out: W, columns: &[Column], rows: &[Row]) -> Result<(), ParquetError> {
    write_with(out, columns, rows.len(), &|i, row| {
        let at = columns[..i].iter().filter(|other| other.role == columns[i].role).count();
        rows[row].value(&columns[i], at)
    })
}

/// Writes a table.
pub(crate) fn table<W: Write + Send>(out: W, table: &Table) -> Result<(), ParquetError> {
    write_with(out, &table.columns, table.rows, &|column, row| table.value(row, column))
}

/// Writes `rows` rows; `value` returns the value in a column and a row, both counted from 0.
fn write_with<W: Write + Send>(
    out: W,
    columns: &[Column],
    rows: usize,
    value: &dyn Fn(usize, usize) -> Option<Value>,
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Whole => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Switch => (Physical::BOOLEAN, None),
        };
        let field = Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::OPTIONAL);
        field.with_logical_type(logical).build().map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("row").with_fields(fields).build()?);
    let described = serde_json::to_string(columns).map_err(|error| ParquetError::General(error.to_string()))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("baton ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(COLUMNS.to_owned(), described)]))
        .build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    for first in (0..rows).step_by(GROUP) {
        let mut group = writer.next_row_group()?;
        for (i, column) in columns.iter().enumerate() {
            let rows = first..rows.min(first + GROUP);
            write_column(&mut group, rows.map(|row| value(i, row).and_then(|value| value.fit(column.kind))))?;
        }
        group.close()?;
    }
    writer.close().map(|_| ())
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<Value>>,
) -> Result<(), ParquetError> {
    let mut levels = Vec::new();
    let (mut whole, mut numbers, mut texts, mut switches) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        match value {
            Some(Value::Whole(n)) => whole.push(n),
            Some(Value::Number(x)) => numbers.push(x),
            Some(Value::Text(text)) => texts.push(ByteArray::from(text.into_bytes())),
            Some(Value::Switch(on)) => switches.push(on),
            None => {}
        }
    }
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("fewer columns than the schema has".to_owned()));
    };
    use parquet::column::writer::ColumnWriter;
    match column.untyped() {
        ColumnWriter::Int64ColumnWriter(out) => batch::<Int64Type>(out, &whole, &levels),
        ColumnWriter::DoubleColumnWriter(out) => batch::<DoubleType>(out, &numbers, &levels),
        ColumnWriter::ByteArrayColumnWriter(out) => batch::<ByteArrayType>(out, &texts, &levels),
        ColumnWriter::BoolColumnWriter(out) => batch::<BoolType>(out, &switches, &levels),
        _ => Err(ParquetError::General("a column of another type".to_owned())),
    }?;
    column.close()
}

fn batch<T: DataType>(
    out: &mut parquet::column::writer::ColumnWriterImpl<'_, T>,
    values: &[T::T],
    levels: &[i16],
) -> Result<(), ParquetError> {
    out.write_batch(values, Some(levels), None).map(|_| ())
}
