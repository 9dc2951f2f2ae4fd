-- The user that dirsync reads as: it needs no more than this.
create user if not exists hr_reader identified by 'a-secret';
grant select on company.* to hr_reader;
