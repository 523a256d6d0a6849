-- @kind: append
-- @description: Books as the catalogue service exports them, every export
SELECT book_id, title, author, genres, publisher, price, published_on, supplier_id, changed_at
FROM {{ landing_zone('books') }}
