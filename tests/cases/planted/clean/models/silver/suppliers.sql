-- @description: Suppliers as the purchasing system has them
SELECT
  s.supplier_id,
  s.name,
  s.country,
  s.lead_days
FROM erp.purchasing.suppliers AS s
