//! Rows from Parquet: only the columns that are asked for are read.

use super::column::Column;
use super::error::StoreError;
use super::table::{Data, Table};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;
use std::path::Path;

/// Adds the rows of a file to a table.
pub(crate) fn append(path: &Path, table: &mut Table) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::io(path, "read"))?;
    let damaged = |why: String| StoreError::Damaged { path: path.to_owned(), why };
    let reader = SerializedFileReader::new(file).map_err(|error| damaged(error.to_string()))?;
    let fields = reader.metadata().file_metadata().schema_descr();
    let place = |column: &Column| {
        let at = fields.columns().iter().position(|field| field.name() == column.name);
        at.ok_or_else(|| damaged(format!("it has no column `{}`", column.name)))
    };
    let places = table.columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(|error| damaged(error.to_string()))?;
        let rows = group.metadata().num_rows() as usize;
        for (&place, data) in places.iter().zip(&mut table.data) {
            let before = data.len();
            column(&*group, place, rows, data).map_err(|error| damaged(error.to_string()))?;
            if data.len() != before + rows {
                return Err(damaged(format!("column {place} has {} rows of {rows}", data.len() - before)));
            }
        }
        table.rows += rows;
    }
    Ok(())
}

/// The number of rows of a file.
pub(crate) fn rows(path: &Path) -> Result<u64, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path, "read"))?;
    let reader = SerializedFileReader::new(file);
    let reader = reader.map_err(|error| StoreError::Damaged { path: path.to_owned(), why: error.to_string() })?;
    Ok(reader.metadata().file_metadata().num_rows() as u64)
}

fn column(group: &dyn RowGroupReader, place: usize, rows: usize, data: &mut Data) -> Result<(), ParquetError> {
    match (group.get_column_reader(place)?, data) {
        (ColumnReader::Int64ColumnReader(reader), Data::Whole(all)) => values(reader, rows, all),
        (ColumnReader::DoubleColumnReader(reader), Data::Number(all)) => values(reader, rows, all),
        (ColumnReader::ByteArrayColumnReader(reader), Data::Text(all)) => values(reader, rows, all),
        (ColumnReader::BoolColumnReader(reader), Data::Switch(all)) => values(reader, rows, all),
        _ => Err(ParquetError::General(format!("column {place} has another type"))),
    }
}

fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    all: &mut Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut levels, mut found) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    while levels.len() < rows {
        let (records, ..) = reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut found)?;
        if records == 0 {
            break;
        }
    }
    let mut found = found.into_iter();
    all.extend(levels.into_iter().map(|level| if level == 0 { None } else { found.next() }));
    Ok(())
}
