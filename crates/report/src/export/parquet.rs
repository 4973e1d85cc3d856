//! Apache Parquet: the columns of [`super::row`], zstd-compressed, texts in dictionaries. Written through the `parquet` crate
//! without Arrow: two types of columns need none.

use super::row::{COLUMNS, Value};
use crate::intervals::Interval;
use crate::model::Report;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Rows per row group: enough to compress well, few enough to hold in memory.
const GROUP_ROWS: usize = 1 << 17;

enum Buffer {
    Numbers(Vec<i64>),
    Texts(Vec<ByteArray>),
}

/// Writes intervals as Parquet.
pub struct Parquet<'a, W: Write + Send> {
    report: &'a Report,
    writer: SerializedFileWriter<W>,
    buffers: Vec<Buffer>,
    rows: usize,
}

impl<'a, W: Write + Send> Parquet<'a, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(report: &'a Report, out: W) -> Result<Self, ParquetError> {
        let field = |column: &super::row::Column| {
            let physical = if column.is_text { Physical::BYTE_ARRAY } else { Physical::INT64 };
            let logical = column.is_text.then_some(LogicalType::String);
            Type::primitive_type_builder(column.name, physical)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        };
        let fields = COLUMNS.iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let schema = Arc::new(Type::group_type_builder("interval").with_fields(fields).build()?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("baton ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let empty = |column: &super::row::Column| {
            if column.is_text { Buffer::Texts(Vec::new()) } else { Buffer::Numbers(Vec::new()) }
        };
        Ok(Parquet { report, writer, buffers: COLUMNS.iter().map(empty).collect(), rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If a full row group cannot be written.
    pub fn push(&mut self, interval: &Interval) -> Result<(), ParquetError> {
        for (column, buffer) in COLUMNS.iter().zip(&mut self.buffers) {
            match (column.of(self.report, interval), buffer) {
                (Value::Number(number), Buffer::Numbers(numbers)) => numbers.push(number),
                (Value::Text(text), Buffer::Texts(texts)) => texts.push(ByteArray::from(text)),
                (Value::Number(_), Buffer::Texts(_)) | (Value::Text(_), Buffer::Numbers(_)) => {
                    return Err(ParquetError::General(format!("column {} gives the other type of value", column.name)));
                }
            }
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(mut self) -> Result<(), ParquetError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map(|_| ())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.buffers {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("fewer columns than the schema has".to_owned()));
            };
            match buffer {
                Buffer::Numbers(numbers) => {
                    column.typed::<Int64Type>().write_batch(numbers, None, None)?;
                    numbers.clear();
                }
                Buffer::Texts(texts) => {
                    column.typed::<ByteArrayType>().write_batch(texts, None, None)?;
                    texts.clear();
                }
            }
            column.close()?;
        }
        self.rows = 0;
        group.close().map(|_| ())
    }
}
