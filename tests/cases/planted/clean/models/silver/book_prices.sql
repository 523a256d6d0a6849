-- @kind: tracked
-- @group_key: book_id
-- @description: Every price that a book has had, and until when
SELECT
  book_id,
  price,
  changed_at AS valid_since,
  lead(changed_at) OVER (PARTITION BY book_id ORDER BY changed_at) AS valid_until
FROM bronze.books
WHERE price IS NOT NULL
