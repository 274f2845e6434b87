"""The grammar as a table: files of statements, one topic a file, with what each gives; `tests.sql.topic` reads them."""
