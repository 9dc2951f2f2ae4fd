-- The role that dirsync reads HR with: it may read, and nothing else.
create role hr_reader login password 'demo-hr-reader' connection limit 20;
alter role hr_reader set default_transaction_read_only = on;
grant usage on schema hr to hr_reader;
grant select on all tables in schema hr to hr_reader;
