-- The table that the contract reads, with change data capture, for a SQL Server to try it with.
CREATE TABLE dbo.Invoices (
  InvoiceNo varchar(12) NOT NULL,
  Line int NOT NULL,
  Article varchar(40) NOT NULL,
  Quantity int NULL,
  Price decimal(12,4) NULL,
  CONSTRAINT PK_Invoices PRIMARY KEY (InvoiceNo, Line)
);
EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'Invoices', @role_name = NULL, @supports_net_changes = 0;
INSERT INTO dbo.Invoices (InvoiceNo, Line, Article, Quantity, Price) VALUES
  ('R-2026-001', 1, 'PEN', 10, 1.2500),
  ('R-2026-001', 2, 'INK', 2, 8.9000),
  ('R-2026-002', 1, 'DESK', 1, 349.0000),
  ('R-9', 1, 'LAMP', 1, 45.0000);
UPDATE dbo.Invoices SET Quantity = 12 WHERE InvoiceNo = 'R-2026-001' AND Line = 1;
DELETE FROM dbo.Invoices WHERE InvoiceNo = 'R-2026-002';
