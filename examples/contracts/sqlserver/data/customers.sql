-- The table that the contract reads, for a SQL Server to try it with.
CREATE TABLE dbo.Customers (
  CustomerID int NOT NULL PRIMARY KEY,
  Name nvarchar(100) NOT NULL,
  Country nchar(2) NULL,
  CreditLimit decimal(12,2) NULL,
  IsDeleted bit NOT NULL,
  ModifiedAt datetime2 NOT NULL
);
INSERT INTO dbo.Customers (CustomerID, Name, Country, CreditLimit, IsDeleted, ModifiedAt) VALUES
  (1, N'Northwind', N'no', 5000.00, 0, '2026-01-05T08:00:00'),
  (2, N'Contoso', N'FR', NULL, 0, '2026-01-05T08:00:00'),
  (3, N'Fabrikam', N'??', 100.00, 0, '2026-01-05T09:30:00'),
  (4, N'Tailspin', N'DE', -1.00, 0, '2026-01-06T10:00:00'),
  (5, N'Litware', N'GB', 20.00, 1, '2026-01-06T11:00:00');
