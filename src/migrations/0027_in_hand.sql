-- Room for the next version of a row on its own page, where no index needs to learn that it was claimed.
alter table dirsync.pending set (fillfactor = 70);
