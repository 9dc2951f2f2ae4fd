-- A case is found by the trace id that the vendor's support asks for.
create index dead_letter_trace on dirsync.dead_letter (trace_id) where trace_id is not null;
