-- SPDX-License-Identifier: GPL-2.0-or-later
-- Fixed work in memory: rows, two indexes, an aggregate, deletions.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO orders SELECT i, i * 7919 % 5003, printf('item-%08d', i * 31 % 65537), i * 0.01 FROM n;
CREATE INDEX orders_customer ON orders(customer);
CREATE INDEX orders_item ON orders(item);
SELECT count(*) FROM (SELECT customer, group_concat(upper(item)) FROM orders GROUP BY customer);
DELETE FROM orders WHERE id % 3 = 0;
SELECT count(*) FROM orders;
